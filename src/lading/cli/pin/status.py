"""`lading pin status`: one line per node and set, once or until everything is pinned."""

import asyncio
from datetime import timedelta

import click

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.pin import rows
from lading.cli.pin.rows import Row

WATCH_SECONDS = 1.0


@click.command(name="status")
@click.option("-w", "--watch", is_flag=True, help="Watch until every set is pinned on its nodes.")
@running.timeout_option
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, watch: bool, timeout: timedelta | None, form: Format) -> None:
    """Show the progress of each set on each node."""
    running.run(_status(target, watch, form), timeout=timeout)


async def _status(target: Target, watch: bool, form: Format) -> None:
    async with target.open() as client:
        shown = ""
        while True:
            found = await read(client)
            text = rendered(found, form)
            if text != shown:
                click.echo(text, nl=False)
                shown = text
            if not watch or (found and all(row.is_settled for row in found)):
                return
            await asyncio.sleep(WATCH_SECONDS)


async def read(client: KubeClient) -> list[Row]:
    sets = [one async for one in client.each(PINNED_IMAGE_SETS)]
    nodes = [one async for one in client.each(MACHINE_CONFIG_NODES)]
    return rows.rows(nodes, sets)


def rendered(found: list[Row], form: Format) -> str:
    fields = Row.__slots__
    if form is not Format.TABLE:
        return output.document(
            [{name: getattr(row, name) for name in fields} for row in found], form
        )
    if not found:
        return "No pinned image sets; `lading apply -f FILE` creates one\n"
    headers = ("NODE", "POOL", "SET", "GENERATION", "STATE", "DETAIL")
    cells = [
        (row.node or "-", row.pool or "-", row.set, row.generation, row.state, row.detail)
        for row in found
    ]
    return output.table(headers, cells)
