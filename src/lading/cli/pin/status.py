"""`lading pin status`: one line per node and set, from what the nodes say about themselves."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import click

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    NodePinnedImageSet,
)
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.kernel import conditions
from lading.pinned_images.node import report
from lading.pinned_images.node.types import SetState

WATCH_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    node: str
    pool: str
    set: str
    generation: str
    state: str
    detail: str


@click.command(name="status")
@click.option("-w", "--watch", is_flag=True, help="Go on until every set is pinned everywhere.")
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(target: Target, watch: bool, form: Format) -> None:
    """Show how far each node is with each of its sets."""
    running.run(_status(target, watch, form))


async def _status(target: Target, watch: bool, form: Format) -> None:
    async with target.open() as client:
        shown = ""
        while True:
            found = await rows(client)
            text = rendered(found, form)
            if text != shown:
                click.echo(text, nl=False)
                shown = text
            if not watch or (found and all(row.state == SetState.PINNED for row in found)):
                return
            await asyncio.sleep(WATCH_SECONDS)


async def rows(client: KubeClient) -> list[Row]:
    nodes = [node async for node in client.each(MACHINE_CONFIG_NODES)]
    return [row for node in nodes for row in _rows(node)]


def _rows(node: MachineConfigNode) -> Iterable[Row]:
    for entry in node.status.pinned_image_sets:
        yield Row(
            node=node.metadata.name,
            pool=node.spec.pool.name,
            set=entry.name,
            generation=f"{entry.current_generation or '-'}/{entry.desired_generation}",
            state=_state(node, entry),
            detail=_detail(node, entry),
        )


def _state(node: MachineConfigNode, entry: NodePinnedImageSet) -> SetState:
    """The last error stays listed when its cause has gone; the condition then says so."""
    if entry.current_generation == entry.desired_generation:
        return SetState.PINNED
    failed = entry.last_failed_generation == entry.desired_generation
    degraded = conditions.is_true(node.status.conditions, report.DEGRADED)
    return SetState.FAILED if failed and degraded else SetState.PULLING


def _detail(node: MachineConfigNode, entry: NodePinnedImageSet) -> str:
    match _state(node, entry):
        case SetState.PINNED:
            return ""
        case SetState.FAILED:
            return next(iter(entry.last_failed_generation_errors), "it failed without a word")
        case _:
            progressing = conditions.find(node.status.conditions, report.PROGRESSING)
            text = progressing.message if progressing else ""
            return f"{output.bar(report.progress_fraction(text))} {text}"


def rendered(found: list[Row], form: Format) -> str:
    if form is not Format.TABLE:
        fields = Row.__slots__
        return output.document(
            [{name: getattr(row, name) for name in fields} for row in found], form
        )
    if not found:
        return "No node has a pinned image set; `lading get pis` lists the sets\n"
    headers = ("NODE", "POOL", "SET", "GENERATION", "STATE", "DETAIL")
    cells = [(row.node, row.pool, row.set, row.generation, row.state, row.detail) for row in found]
    return output.table(headers, cells)
