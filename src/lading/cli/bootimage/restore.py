"""`lading bootimage restore`: an earlier boot image and stub, and no updates until resumed."""

import click

from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    BootImageHistoryDetail,
    MachineSetBootImageHistory,
)
from lading.boot_images import apply, machine_specs, observe, patches, preview
from lading.boot_images.platforms.types import Api, BootImage
from lading.boot_images.preview import ServedMachineApi
from lading.boot_images.types import PAUSE_ANNOTATION, PAUSED, CloneTemplate, PatchMachineSet
from lading.cli import connection, running
from lading.cli.bootimage import machine_set
from lading.cli.connection import Target
from lading.cli.exit_codes import RefusedByGuard
from lading.ports.kube import Kube


@click.command(name="restore")
@click.argument("name", metavar="[KIND/]NAME")
@click.option("--to", "index", type=int, required=True, help="The index in the history.")
@click.option("--yes", is_flag=True, help="Carry out the plan; without --yes it is only shown.")
@connection.target_options
def command(target: Target, name: str, index: int, yes: bool) -> None:
    """Give a machine set an earlier boot image and stub, and pause its updates.

    Machines that exist stay as they are; new ones boot the restored image.
    """
    running.run(_restore(target, name, index, yes))


async def _restore(target: Target, name: str, index: int, yes: bool) -> None:
    async with target.open() as client:
        history = machine_set.meant(name, await preview.histories(client))
        detail = _detail(history, index)
        served, one = await machine_set.read(client, history)
        actions = await _actions(client, served, one, detail)
        for action in actions:
            click.echo(f"{_verb(action)}: {action.because}")
        click.echo(f"stub: {detail.stub_secret_ref or '(none)'}; updates are paused")
        if not yes:
            click.echo("Nothing was changed. To do it, add --yes.")
            return
        for action in actions:
            await apply.apply(
                action, client, served.resource, field_manager=machine_set.FIELD_MANAGER
            )
        click.echo(f"Restored. `lading bootimage resume {name}` lets it be updated again.")


def _detail(history: MachineSetBootImageHistory, index: int) -> BootImageHistoryDetail:
    found = next((one for one in history.spec.details if one.index == index), None)
    if found is None:
        known = ", ".join(str(one.index) for one in history.spec.details)
        raise click.ClickException(f"the history has no index {index}; it has {known}")
    return found


async def _actions(
    client: Kube, served: ServedMachineApi, one: MachineSet, detail: BootImageHistoryDetail
) -> tuple[CloneTemplate | PatchMachineSet, ...]:
    templates = await observe.templates(client, [one]) if served.api is Api.CLUSTER else {}
    machine = machine_specs.machine_spec(served.api, one, templates)
    present = machine.platform.present(served.api, machine.value)
    field = str(present.path[-1])
    if field not in detail.boot_image:
        kept = ", ".join(detail.boot_image) or "nothing"
        raise RefusedByGuard(f"the history holds {kept}, but the machine set has {field}")
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


def _verb(action: CloneTemplate | PatchMachineSet) -> str:
    return "clone the template" if isinstance(action, CloneTemplate) else "patch the machine set"
