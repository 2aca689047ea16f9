"""Preloads and pins sets on one host, showing progress, until there is nothing left to do.

What a set pins here stays pinned, whatever is applied later under another name: the runtime keeps
it, with the names of the sets.
"""

import socket
from collections.abc import Sequence
from pathlib import Path

import click

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.cli.pin import host_state, sets
from lading.cli.status_line import StatusLine
from lading.kernel.feature_gates import Gates
from lading.pinned_images.node import host as node_host
from lading.pinned_images.node.types import PinSettings
from lading.pinned_images.progress import Progress, SetState
from lading.wiring import host, without_cluster
from lading.wiring.clock import system_clock
from lading.wiring.host import Host


async def synchronize(
    files: Sequence[str], endpoint: str, *, state_dir: Path, gates: Gates, settings: PinSettings
) -> None:
    wanted = await sets.sets_in(files)
    place = Host(runtime_endpoint=endpoint, state_dir=state_dir)
    with host_state.owned(state_dir, endpoint, "apply"):
        found = await _synchronized(wanted, place, gates=gates, settings=settings)
    _report(found)


async def _synchronized(
    wanted: Sequence[PinnedImageSet], place: Host, *, gates: Gates, settings: PinSettings
) -> Progress:
    clock, line = system_clock(), StatusLine()
    async with host.open_host(place, clock) as parts:
        desired = node_host.desired_of(
            socket.gethostname(),
            wanted,
            handlers=without_cluster.declared_handlers(place.root, gates),
            settings=settings,
            now=clock.now(),
        )
        try:
            return await without_cluster.synchronize(
                parts, desired, clock, gates=gates, show=lambda one: line.show(one.message)
            )
        finally:
            line.clear()


def _report(found: Progress) -> None:
    for one in found.sets:
        if one.state == SetState.PINNED:
            click.echo(f"pinnedimageset/{one.name}: {one.image_count} pinned")
    problems = [f"{one.name}: {problem.message}" for one in found.sets for problem in one.problems]
    if problems:
        raise click.ClickException("\n".join(problems))
