"""What a restore writes: an earlier image and stub, with a pause, in one patch. Reads templates."""

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import BootImageHistoryDetail
from lading.boot_images import machine_specs, observe, patches
from lading.boot_images.platforms.types import Api, BootImage
from lading.boot_images.preview import ServedMachineApi
from lading.boot_images.types import PAUSE_ANNOTATION, PAUSED, CloneTemplate, PatchMachineSet
from lading.ports.kube import Kube


class NotRestorable(Exception):
    """The machine set has no place for what the history holds."""


async def actions(
    client: Kube, served: ServedMachineApi, one: MachineSet, detail: BootImageHistoryDetail
) -> tuple[CloneTemplate | PatchMachineSet, ...]:
    """Raises NotRestorable, or Skipped where the machine set cannot be read."""
    templates = await observe.templates(client, [one]) if served.api is Api.CLUSTER else {}
    machine = machine_specs.machine_spec(served.api, one, templates)
    present = machine.platform.present(served.api, machine.value)
    field = str(present.path[-1])
    if field not in detail.boot_image:
        kept = ", ".join(detail.boot_image) or "nothing"
        raise NotRestorable(f"the history holds {kept}, but the machine set has {field}")
    image = BootImage(reference=detail.boot_image_ref, value=detail.boot_image[field])
    return patches.patch(
        one,
        machine,
        present,
        api=served.api,
        image=image,
        secret=detail.stub_secret_ref or machine.secret,
        template=templates.get(machine_specs.template_reference(one)),
        annotations={**one.metadata.annotations, PAUSE_ANNOTATION: PAUSED},
    )
