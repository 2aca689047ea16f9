"""`lading bootimage status`: one line per machine set, and machines by the image they boot."""

import click

from lading.boot_images import commands, status
from lading.boot_images.types import BootImageSettings
from lading.boot_images.verdicts import MachineSetState, Why
from lading.cli import connection, output, running
from lading.cli.bootimage.settings import settings_options
from lading.cli.connection import Target
from lading.cli.output import Format


@click.command(name="status")
@output.form_option(default=Format.TABLE)
@settings_options
@connection.target_options
def command(target: Target, settings: BootImageSettings, form: Format) -> None:
    """Show the machine sets and whether they boot the image of the release."""
    running.run(_status(target, settings, form))


async def _status(target: Target, settings: BootImageSettings, form: Format) -> None:
    async with target.open() as client:
        rows = [status.row(one) for one in await commands.histories(client)]
        rows += [
            control_plane_row(name, image)
            for name, image in await commands.control_planes(client, settings)
        ]
        machines = await commands.machine_images(client, settings)
    click.echo(rendered(rows, machines, form), nl=False)


def control_plane_row(name: str, image: str) -> dict[str, str]:
    return {
        "name": name,
        "api": "machine.openshift.io",
        "state": MachineSetState.SKIPPED,
        "reason": Why.CONTROL_PLANE,
        "image": image,
        "target": "",
        "message": "ControlPlaneMachineSets replace their machines, so they are never patched",
    }


def rendered(rows: list[dict[str, str]], machines: dict[str, int], form: Format) -> str:
    rows = sorted(rows, key=lambda one: (one["api"], one["name"]))
    if form is not Format.TABLE:
        return output.document({"machineSets": rows, "machinesByBootImage": machines}, form)
    if not rows:
        return (
            "No machine set has a history. Check that the controller runs with"
            " --feature-gates=ManagedBootImages=true.\n"
        )
    shown = output.table(
        ("MACHINE SET", "STATE", "REASON", "IMAGE"),
        [(one["name"], one["state"], one["reason"], _short(one["image"])) for one in rows],
    )
    if machines:
        counts = sorted(machines.items(), key=lambda one: (-one[1], one[0]))
        shown += "\n" + output.table(
            ("MACHINES", "MADE FROM"), [(str(count), _short(image)) for image, count in counts]
        )
    return shown


def _short(image: str) -> str:
    """Tables fit 80 columns: the last part of a path names the image."""
    return image.rsplit("/", 1)[-1] or "-"
