"""The one patch that gives a machine set another image and stub, for updates and restores. Pure."""

from collections.abc import Mapping

from lading.api.cluster_api import MachineTemplate
from lading.api.machine import MachineSet
from lading.boot_images import clones, machine_specs
from lading.boot_images.machine_specs import MachineSpec
from lading.boot_images.platforms.types import Api, BootImage, CurrentImage
from lading.boot_images.types import CloneTemplate, PatchMachineSet


def patch(
    machine_set: MachineSet,
    machine: MachineSpec,
    present: CurrentImage,
    *,
    api: Api,
    image: BootImage,
    secret: str,
    template: MachineTemplate | None = None,
    annotations: Mapping[str, str] | None = None,
) -> tuple[CloneTemplate | PatchMachineSet, ...]:
    """A template is cloned first where the API keeps images in templates."""
    lane = "set", api, machine_set.key
    operations = [machine_specs.guard(machine_set)]
    cloned: tuple[CloneTemplate, ...] = ()
    if image.value != present.image.value:
        if api is Api.MACHINE:
            path = (*machine.image_root, *present.path)
            operations.append(machine_specs.operation(path, image.value))
        else:
            assert template is not None, "the present image was read from a template"
            body = clones.clone(
                template, machine_set=machine_set.metadata.name, path=present.path, image=image
            )
            cloned = (CloneTemplate(body=body, lane=lane, because="templates are immutable"),)
            path = (*machine.image_root, "name")
            operations.append(machine_specs.operation(path, body["metadata"]["name"]))
    if secret != machine.secret:
        operations.append(machine_specs.operation(machine.secret_path, secret))
    if annotations is not None:
        operations.append(machine_specs.operation(("metadata", "annotations"), dict(annotations)))
    because = changes(machine, present, image=image, secret=secret) or "updates are paused"
    whole = PatchMachineSet(
        key=machine_set.key, operations=tuple(operations), lane=lane, because=because
    )
    return (*cloned, whole)


def changes(machine: MachineSpec, present: CurrentImage, *, image: BootImage, secret: str) -> str:
    """What a patch changes for new machines; empty if nothing does."""
    found = []
    if image.value != present.image.value:
        found.append(f"the boot image changes from {present.image.reference} to {image.reference}")
    if secret != machine.secret:
        found.append(f"the stub changes to Secret {secret}")
    return "; ".join(found)
