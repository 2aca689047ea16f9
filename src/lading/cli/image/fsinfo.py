"""`lading image fsinfo`: what images and containers take on disk, as the runtime counts it."""

from datetime import UTC, datetime

import click

from lading.cli import output, running
from lading.cli.image import crictl_form
from lading.cli.image.node_options import NodeOptions, with_node_options
from lading.cli.output import Format
from lading.kernel import quantities
from lading.ports.cri import Filesystems, FilesystemUsage

_HEADERS = ("FILESYSTEM", "MOUNTPOINT", "USED", "INODES", "MEASURED")


@click.command(name="fsinfo")
@output.form_option(default=Format.JSON)
@with_node_options
def command(node: NodeOptions, form: Format) -> None:
    """Show the disk usage of images and containers, one entry for each file system."""
    running.run(_show(node, form))


async def _show(node: NodeOptions, form: Format) -> None:
    async with node.runtime() as runtime:
        found = await runtime.filesystems()
    if form is Format.TABLE:
        click.echo(output.table(_HEADERS, _rows(found)), nl=False)
    else:
        click.echo(output.document(crictl_form.filesystems(found), form), nl=False)


def _rows(found: Filesystems) -> list[tuple[str, ...]]:
    images = [("images", *_cells(usage)) for usage in found.images]
    return images + [("containers", *_cells(usage)) for usage in found.containers]


def _cells(usage: FilesystemUsage) -> tuple[str, ...]:
    measured = datetime.fromtimestamp(usage.measured_at_nanoseconds // 10**9, UTC)
    used = quantities.format_bytes(usage.used_bytes)
    return usage.mountpoint, used, str(usage.inodes_used), f"{measured:%Y-%m-%dT%H:%M:%SZ}"
