"""`lading pin wait`: until sets are ready, for scripts; the exit code says how it ended."""

import asyncio
from datetime import timedelta

import click

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.pin import readiness
from lading.cli.pin.readiness import Readiness
from lading.cli.status_line import StatusLine
from lading.ports import kube

LOOK_SECONDS = 1.0
TIMEOUT = "30m"  # some 100 GiB at 60 MiB/s


@click.command(name="wait")
@click.argument("sets", nargs=-1)
@running.timeout_option(TIMEOUT)
@connection.target_options
def command(target: Target, sets: tuple[str, ...], timeout: timedelta) -> None:
    """Wait until SETS (default: all) are pinned on all their nodes.

    Ends with 0 when they are, with 1 and the reasons as soon as a set has failed, with 124 when
    the time is over.
    """
    running.run(_wait(target, sets), timeout=timeout)


async def _wait(target: Target, names: tuple[str, ...]) -> None:
    line = StatusLine()
    async with target.open() as client:
        names = names or tuple(sorted(await _sets(client)))
        if not names:
            raise click.ClickException("there is no PinnedImageSet to wait for")
        try:
            while True:
                if await _is_over(client, names, line):
                    break
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            line.clear()
    for name in names:
        click.echo(f"pinnedimageset/{name} is ready")


async def _is_over(client: KubeClient, names: tuple[str, ...], line: StatusLine) -> bool:
    """An API server that does not answer for a while ends nothing."""
    try:
        found = readiness.readiness(await _sets(client), names)
    except kube.Unavailable as error:
        line.show(str(error))
        return False
    _require_none_failed(found, line)
    if found.pending:
        line.show("; ".join(found.pending))
    return not found.pending


def _require_none_failed(found: Readiness, line: StatusLine) -> None:
    if not found.failed:
        return
    line.clear()
    for problem in found.failed:
        output.sentence(problem, err=True)
    raise click.ClickException("a set has failed; `lading pin status` shows its nodes")


async def _sets(client: KubeClient) -> dict[str, PinnedImageSet]:
    return {one.metadata.name: one async for one in client.each(PINNED_IMAGE_SETS)}
