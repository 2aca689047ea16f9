"""`lading bootimage restore`: restores an earlier boot image and stub, and pauses updates."""

import click

from lading.api.machineconfiguration.boot_image_history import (
    BootImageHistoryDetail,
    MachineSetBootImageHistory,
)
from lading.boot_images import apply, commands
from lading.boot_images.types import CloneTemplate, PatchMachineSet
from lading.cli import connection, options, running
from lading.cli.bootimage import machine_set
from lading.cli.connection import Target
from lading.cli.error_messages import RefusedByGuard


@click.command(name="restore", cls=options.with_former_options(renamed={"--yes": "--confirm"}))
@click.argument("name", metavar="[KIND/]NAME")
@click.option(
    "--to",
    "index",
    metavar="INDEX",
    type=click.IntRange(min=0),
    required=True,
    help="The INDEX that `lading bootimage history` shows.",
)
@options.confirm_option()
@connection.target_options
def command(target: Target, name: str, index: int, confirm: bool) -> None:
    """Give a machine set an earlier boot image and Ignition stub, and pause its updates.

    Existing machines do not change; new machines boot the restored image.
    """
    running.run(_restore(target, name, index, confirm))


async def _restore(target: Target, name: str, index: int, confirm: bool) -> None:
    async with target.open() as client:
        history = machine_set.meant(
            name, await commands.histories(client), namespace=target.namespace
        )
        detail = _detail(history, index)
        served, one = await machine_set.read(client, history)
        try:
            actions = await commands.restore_actions(client, served, one, detail)
        except commands.NotRestorable as error:
            raise RefusedByGuard(str(error)) from error
        for action in actions:
            click.echo(f"{_verb(action)}: {action.because}")
        click.echo(f"stub: {detail.stub_secret_ref or '(none)'}; updates are paused")
        if not confirm:
            click.echo("Nothing is changed yet. To apply this plan, add --confirm.")
            return
        for action in actions:
            await apply.apply(
                action, client, served.resource, field_manager=machine_set.FIELD_MANAGER
            )
        click.echo(f"Restored. `lading bootimage resume {name}` allows updates again.")


def _detail(history: MachineSetBootImageHistory, index: int) -> BootImageHistoryDetail:
    found = next((one for one in history.spec.details if one.index == index), None)
    if found is None:
        known = ", ".join(str(one.index) for one in history.spec.details)
        raise click.ClickException(f"the history has no entry {index}; it has {known}")
    return found


def _verb(action: CloneTemplate | PatchMachineSet) -> str:
    return "clone the template" if isinstance(action, CloneTemplate) else "patch the machine set"
