"""Preloads and pins sets on one host, showing progress, until there is nothing left to do.

What a set pins here stays pinned, whatever is applied later under another name: the runtime keeps
it, with the names of the sets.
"""

import socket
from collections.abc import Sequence

import click

from lading.cli.pin import sets
from lading.cli.status_line import StatusLine
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.progress import Progress
from lading.pinned_images.node.types import PinSettings, SetState
from lading.wiring import host, without_cluster
from lading.wiring.clock import system_clock
from lading.wiring.host import Host


async def synchronize(
    files: Sequence[str], endpoint: str, *, gates: Gates, settings: PinSettings
) -> None:
    clock, line = system_clock(), StatusLine()
    wanted = await sets.sets_in(files)
    place = Host(runtime_endpoint=endpoint, state_dir=sets.HOST_STATE_FOLDER)
    async with host.open_host(place, clock) as parts:
        desired = node_host.desired_of(
            socket.gethostname(),
            wanted,
            handlers=without_cluster.declared_handlers(place.root, gates),
            settings=settings,
            now=clock.now(),
        )
        try:
            found = await without_cluster.synchronize(
                parts, desired, clock, gates=gates, show=lambda one: line.show(one.message)
            )
        finally:
            line.clear()
    _report(found)


def _report(found: Progress) -> None:
    for one in found.sets:
        if one.state == SetState.PINNED:
            click.echo(f"pinnedimageset/{one.name}: {one.image_count} pinned")
    problems = [f"{one.name}: {problem.message}" for one in found.sets for problem in one.problems]
    if problems:
        raise click.ClickException("\n".join(problems))
