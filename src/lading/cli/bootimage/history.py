"""`lading bootimage history`: the boot images that a machine set had."""

import click
import msgspec

from lading.boot_images import commands
from lading.cli import connection, output, running
from lading.cli.bootimage import machine_set
from lading.cli.connection import Target
from lading.cli.output import Format


@click.command(name="history")
@click.argument("name", metavar="[KIND/]NAME")
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, name: str, form: Format) -> None:
    """Show the boot images that a machine set had, the oldest first."""
    running.run(_history(target, name, form))


async def _history(target: Target, name: str, form: Format) -> None:
    async with target.open() as client:
        found = machine_set.meant(
            name, await commands.histories(client), namespace=target.namespace
        )
    details = found.spec.details
    if form is not Format.TABLE:
        click.echo(output.document(msgspec.to_builtins(details), form), nl=False)
        return
    cells = [
        (
            str(one.index),
            one.updated_time,
            one.set_by.value,
            one.boot_image_ref.rsplit("/", 1)[-1],
            one.stub_secret_ref,
        )
        for one in details
    ]
    click.echo(output.table(("INDEX", "SINCE", "SET BY", "IMAGE", "STUB"), cells), nl=False)
