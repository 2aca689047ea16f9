"""Where a machine set keeps its image and its stub, and how both are patched. Pure."""

from collections.abc import Hashable, Mapping
from typing import Any

import msgspec

from lading.api.cluster_api import MachineTemplate, TemplateKey
from lading.api.machine import MachineSet
from lading.boot_images import platforms, templates
from lading.boot_images.platforms.types import (
    Api,
    BootImage,
    CloudPlatform,
    CurrentImage,
    Path,
    object_at,
    text_at,
    value_at,
)
from lading.boot_images.types import CloneTemplate, PatchMachineSet
from lading.boot_images.verdicts import NotUpdated, Why

PROVIDER_SPEC: Path = ("spec", "template", "spec", "providerSpec", "value")
USER_DATA: Path = (*PROVIDER_SPEC, "userDataSecret", "name")
INFRASTRUCTURE: Path = ("spec", "template", "spec", "infrastructureRef")
BOOTSTRAP: Path = ("spec", "template", "spec", "bootstrap", "dataSecretName")


class MachineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What new machines of a set are made from."""

    platform: CloudPlatform
    value: Mapping[str, Any]
    secret: str
    """The Secret of the stub; empty if the bootstrap provider makes one for each machine."""
    user_data_key: str
    secret_path: Path
    image_root: Path
    """The path in the machine set under which its API keeps the image."""


def whole(machine_set: MachineSet) -> dict[str, Any]:
    return {"spec": machine_set.spec, "status": machine_set.status}


def machine_spec(
    api: Api, machine_set: MachineSet, known: Mapping[TemplateKey, MachineTemplate]
) -> MachineSpec | NotUpdated:
    """`known` are the infrastructure templates, which Cluster API needs."""
    if api is Api.MACHINE:
        return _of_provider_spec(value_at(whole(machine_set), PROVIDER_SPEC))
    return _of_template(machine_set, known)


def current_image(api: Api, machine: MachineSpec | NotUpdated) -> CurrentImage | NotUpdated:
    if isinstance(machine, NotUpdated):
        return machine
    return machine.platform.present(api, machine.value)


def image_path(machine: MachineSpec, image: CurrentImage) -> Path:
    """The path of the image in the machine set, or of the reference to its template."""
    root = machine.image_root
    return (*root, *image.path) if root == PROVIDER_SPEC else root


def _of_provider_spec(value: Any) -> MachineSpec | NotUpdated:
    if not isinstance(value, dict):
        return NotUpdated(Why.PROVIDER_SPEC, "providerSpec.value is not an object")
    platform = _platform(platforms.BY_PROVIDER_SPEC, value.get("kind"))
    if isinstance(platform, NotUpdated):
        return platform
    return MachineSpec(
        platform=platform,
        value=value,
        secret=text_at(object_at(value, "userDataSecret"), "name"),
        user_data_key="userData",
        secret_path=USER_DATA,
        image_root=PROVIDER_SPEC,
    )


def _of_template(
    machine_set: MachineSet, known: Mapping[TemplateKey, MachineTemplate]
) -> MachineSpec | NotUpdated:
    reference = templates.reference_of(machine_set)
    platform = _platform(platforms.BY_TEMPLATE, reference[0])
    if isinstance(platform, NotUpdated):
        return platform
    template = known.get(reference)
    if template is None:
        message = f"{reference[0]} {reference[2]} does not exist or cannot be read"
        return NotUpdated(Why.TEMPLATE_MISSING, message)
    value = value_at(template.spec, ("template", "spec"))
    if not isinstance(value, dict):
        message = f"spec.template.spec of {reference[2]} is not an object"
        return NotUpdated(Why.PROVIDER_SPEC, message)
    secret = value_at(whole(machine_set), BOOTSTRAP)
    return MachineSpec(
        platform=platform,
        value=value,
        secret=secret if isinstance(secret, str) else "",
        user_data_key="value",
        secret_path=BOOTSTRAP,
        image_root=INFRASTRUCTURE,
    )


def _platform(known: Mapping[str, CloudPlatform], kind: Any) -> CloudPlatform | NotUpdated:
    found = known.get(kind) if isinstance(kind, str) else None
    if found is None:
        message = "the kind of the machine spec names no known platform"
        return NotUpdated(Why.PLATFORM_UNKNOWN, message)
    return found


def operation(path: Path, value: Any) -> dict[str, Any]:
    """`add` sets a member of an object, whether it exists or not."""
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return {"op": "add", "path": "".join(f"/{step}" for step in steps), "value": value}


def guard(machine_set: MachineSet) -> dict[str, Any]:
    """The API server answers with a conflict if the set was written since it was observed."""
    version = machine_set.metadata.resource_version
    return {"op": "replace", "path": "/metadata/resourceVersion", "value": version}


def patch(
    machine_set: MachineSet,
    machine: MachineSpec,
    present: CurrentImage,
    *,
    api: Api,
    image: BootImage,
    secret: str,
    lane: Hashable,
    template: MachineTemplate | None = None,
    annotations: Mapping[str, str] | None = None,
) -> tuple[CloneTemplate | PatchMachineSet, ...]:
    """One patch for image and stub. Cluster API keeps images in templates, so one is cloned."""
    operations = [guard(machine_set)]
    cloned: tuple[CloneTemplate, ...] = ()
    if image.value != present.image.value:
        if api is Api.MACHINE:
            operations.append(operation((*machine.image_root, *present.path), image.value))
        else:
            assert template is not None, "the current image was read from a template"
            body = templates.clone(
                template, machine_set=machine_set.metadata.name, path=present.path, image=image
            )
            cloned = (CloneTemplate(body=body, lane=lane, because="templates are immutable"),)
            operations.append(operation((*machine.image_root, "name"), body["metadata"]["name"]))
    if secret != machine.secret:
        operations.append(operation(machine.secret_path, secret))
    if annotations is not None:
        operations.append(operation(("metadata", "annotations"), dict(annotations)))
    because = changes(machine, present, image=image, secret=secret) or "updates are paused"
    patched = PatchMachineSet(
        key=machine_set.key, operations=tuple(operations), lane=lane, because=because
    )
    return (*cloned, patched)


def changes(machine: MachineSpec, present: CurrentImage, *, image: BootImage, secret: str) -> str:
    """What a patch changes for new machines; empty if it changes nothing."""
    found = []
    if image.value != present.image.value:
        found.append(f"the boot image changes from {present.image.reference} to {image.reference}")
    if secret != machine.secret:
        found.append(f"the stub changes to Secret {secret}")
    return "; ".join(found)
