"""`lading pin status`: one line per node and set, once or until everything is pinned."""

import asyncio
import re
import textwrap
from collections.abc import Sequence
from datetime import timedelta

import click

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, Node
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.output import Format
from lading.cli.terminal import Screen
from lading.kernel import durations, quantities, texts
from lading.pinned_images import rows
from lading.pinned_images.rows import Row, RowState
from lading.ports import kube
from lading.wiring.live_progress import LiveProgress

WATCH_SECONDS = 1.0
_DIGEST = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")
"""A full digest does not fit the table; use -o json."""


@click.command(name="status")
@click.argument("sets", nargs=-1)
@click.option(
    "--node", "nodes", metavar="NAME", multiple=True, help="Show only this node; may be repeated."
)
@click.option(
    "-w", "--watch", is_flag=True, help="Watch until all sets are pinned on all their nodes."
)
@running.timeout_option()
@output.form_option(default=Format.TABLE)
@connection.target_options
def command(
    target: Target,
    sets: tuple[str, ...],
    nodes: tuple[str, ...],
    watch: bool,
    timeout: timedelta | None,
    form: Format,
) -> None:
    """Show the progress of SETS (default: all) on each node."""
    chosen = rows.RowChoice(sets=frozenset(sets), nodes=frozenset(nodes))
    running.run(_status(target, chosen, watch=watch, form=form), timeout=timeout)


async def _status(target: Target, chosen: rows.RowChoice, *, watch: bool, form: Format) -> None:
    async with target.open() as client:
        agents = LiveProgress(client)
        with Screen(redraw=watch) as screen:
            while True:
                found = await agents.rows(await read(client, chosen))
                screen.show(rendered(found, form, columns=output.screen_columns()))
                if not watch or (found and all(row.is_settled for row in found)):
                    return
                await asyncio.sleep(WATCH_SECONDS)


async def read(client: KubeClient, chosen: rows.RowChoice = rows.ALL) -> list[Row]:
    sets = [one async for one in client.each(PINNED_IMAGE_SETS)]
    reports = [one async for one in client.each(MACHINE_CONFIG_NODES)]
    pools = [one async for one in client.each(MACHINE_CONFIG_POOLS)]
    nodes = await _nodes(client)
    unknown = rows.unknown_names(chosen, reports=reports, sets=sets, nodes=nodes)
    if unknown:
        raise click.ClickException("; ".join(unknown))
    found = rows.rows(reports, sets, must_hold=rows.expected(nodes, pools, sets))
    return [row for row in found if chosen.has(row)]


async def _nodes(client: KubeClient) -> list[Node]:
    """Without the right to list nodes, nodes that do not report are counted, not named."""
    try:
        return [one async for one in client.each(NODES)]
    except kube.Forbidden:
        return []


def rendered(found: Sequence[Row], form: Format, *, columns: int | None) -> str:
    if form is not Format.TABLE:
        return output.document([_plain(row) for row in found], form)
    if not found:
        return "No PinnedImageSets. Create one: lading pin create NAME IMAGE... --apply\n"
    headers: tuple[str, ...] = ("NODE", "SET", "GENERATION", "STATE", "IMAGES", "TO PULL")
    is_arriving = any(row.bytes_per_second for row in found)
    if is_arriving:
        headers += ("RATE", "LEFT")
    cells = [
        (
            row.node or "-",
            row.set,
            row.generation,
            row.state,
            f"{row.present}/{row.images}" if row.images else "-",
            quantities.format_bytes(row.missing_bytes) if row.missing_bytes else "-",
            *(_speed(row) if is_arriving else ()),
        )
        for row in found
    ]
    table = output.table(headers, cells, columns=columns)
    return table + _explanations(found, columns)


def _speed(row: Row) -> tuple[str, str]:
    if not row.bytes_per_second:
        return "-", "-"
    left = timedelta(seconds=row.missing_bytes // row.bytes_per_second)
    rate = f"{quantities.format_bytes(row.bytes_per_second)}/s"
    return rate, durations.format_duration(left)


def _explanations(found: Sequence[Row], columns: int | None) -> str:
    """Shows an error of several nodes once."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        if row.needs_detail:
            alike.setdefault((row.set, _explanation(row)), []).append(row)
    return "".join(
        _explained(image_set, f"{text}{_next_try(some)}", [row.node for row in some], columns)
        for (image_set, text), some in alike.items()
    )


def _explanation(row: Row) -> str:
    """Without the time of the next attempt, which differs by node."""
    if row.state is RowState.FAILED and row.last_error:
        return row.last_error.removesuffix(".")
    if row.state is not RowState.PULLING:
        return row.detail
    again = f"attempt {row.attempt} runs; " if row.attempt > 1 else ""
    return f"{again}last error: {row.last_error}"


def _next_try(alike: Sequence[Row]) -> str:
    """The first attempt of all nodes with the same error."""
    waiting = [row for row in alike if row.state is RowState.FAILED and row.next_pull_time]
    if not waiting:
        return ""
    first = min(waiting, key=lambda row: row.next_pull_time)
    node = f" on {first.node}" if len(alike) > 1 else ""
    return f"; attempt {first.attempt}{node} at {first.next_pull_time}"


def _explained(image_set: str, detail: str, nodes: Sequence[str], columns: int | None) -> str:
    nodes = [node for node in nodes if node]
    place = f"{image_set} on {output.names(nodes)}" if nodes else image_set
    text = _DIGEST.sub(r"\1...", texts.bounded_text(f"{place}: {detail}"))
    if columns is None:
        return f"{text}\n"
    lines = textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def _plain(row: Row) -> dict[str, object]:
    return {
        "node": row.node,
        "pool": row.pool,
        "set": row.set,
        "generation": row.generation,
        "state": row.state,
        "images": row.images,
        "present": row.present,
        "missingBytes": row.missing_bytes,
        "detail": row.detail,
        "attempt": row.attempt,
        "nextPullTime": row.next_pull_time,
        "lastError": row.last_error,
        "live": row.is_live,
        "bytesDone": row.bytes_done,
        "bytesTotal": row.bytes_total,
        "bytesPerSecond": row.bytes_per_second,
        "endsAt": row.ends_at,
    }
