"""Preloads and pins sets on one host, showing progress, until all is done or nothing more can be.

What a set pins here stays pinned, whatever is applied later under another name: the runtime keeps
it, with the names of the sets.
"""

import socket
from collections.abc import Sequence

import click

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.cli.pin import sets
from lading.cli.status_line import StatusLine
from lading.kernel import conditions
from lading.pinned_images.node import report
from lading.wiring import host, without_cluster
from lading.wiring.clock import system_clock
from lading.wiring.host import Host


async def synchronize(files: Sequence[str], endpoint: str) -> None:
    clock = system_clock()
    display = _Display()
    wanted = await sets.sets_in(files)
    place = Host(runtime_endpoint=endpoint, state_dir=sets.HOST_STATE_FOLDER)
    async with host.open_host(place, clock) as parts:
        desired = without_cluster.desired_of(socket.gethostname(), wanted, clock.now())
        try:
            await without_cluster.synchronize(parts, desired, clock, told=display.told)
        finally:
            display.line.clear()
    for one in wanted:
        click.echo(f"pinnedimageset/{one.metadata.name}: {len(one.spec.pinned_images)} pinned")


class _Display:
    """Shows each new progress text, and knows when there is nothing more to wait for."""

    def __init__(self) -> None:
        self.line = StatusLine()

    def told(self, status: MachineConfigNodeStatus) -> bool:
        progressing = conditions.find(status.conditions, report.PROGRESSING)
        if progressing is None:
            return False
        self.line.show(progressing.message)
        if not conditions.is_true(status.conditions, report.PROGRESSING):
            return True
        degraded = conditions.is_true(status.conditions, report.DEGRADED)
        if degraded and not report.says_pulling(progressing.message):
            raise click.ClickException(_errors(status))
        return False


def _errors(status: MachineConfigNodeStatus) -> str:
    return "\n".join(
        f"{entry.name}: {error}"
        for entry in status.pinned_image_sets
        for error in entry.last_failed_generation_errors
    )
