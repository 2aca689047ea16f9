"""`lading pin wait`: until sets are ready, for scripts; the exit code says how it ended."""

import asyncio
import contextlib
from datetime import timedelta

import click

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, running
from lading.cli.connection import Target
from lading.cli.exit_codes import CommandTimedOut
from lading.cli.pin import readiness
from lading.cli.status_line import StatusLine
from lading.kernel import durations, texts
from lading.ports import kube
from lading.ports.clock import Clock
from lading.wiring.clock import system_clock

LOOK_SECONDS = 1.0
ANSWER_SECONDS_MAX = 10.0
TIMEOUT = "30m"  # some 100 GiB at 60 MiB/s


@click.command(name="wait")
@click.argument("sets", nargs=-1)
@running.timeout_option(TIMEOUT)
@connection.target_options
def command(target: Target, sets: tuple[str, ...], timeout: timedelta) -> None:
    """Wait until SETS (default: all) are pinned on all their nodes.

    The exit code is 0 when they are pinned, 1 as soon as a set fails, and 124 after the timeout.
    """
    running.run(_wait(target, sets, timeout, system_clock()))


async def _wait(target: Target, names: tuple[str, ...], timeout: timedelta, clock: Clock) -> None:
    line = StatusLine()
    end = clock.monotonic() + timeout.total_seconds()
    async with target.open() as client:
        names = names or await _all_names(client)
        if not names:
            raise click.ClickException(
                "there is no PinnedImageSet to wait for; create one with `lading pin create`"
            )
        try:
            while pending := await _pending(client, names):
                line.show(pending)
                left_seconds = end - clock.monotonic()
                if left_seconds <= 0:
                    spent = durations.format_duration(timeout)
                    raise CommandTimedOut(f"not done after {spent}; {pending}")
                await clock.sleep(min(LOOK_SECONDS, left_seconds))
        finally:
            line.clear()
    for name in names:
        click.echo(f"pinnedimageset/{name} is ready")


async def _pending(client: KubeClient, names: tuple[str, ...]) -> str:
    """What is waited for; an API server that does not answer for a while ends nothing."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            found = readiness.readiness(await _sets(client, names), names)
    except (kube.Unavailable, TimeoutError) as error:
        return str(error) or "the API server does not answer"
    if found.failed:
        problems = "\n".join(map(texts.bounded_text, found.failed))
        raise click.ClickException(f"{problems}\n`lading pin status` shows each node")
    return texts.bounded_text("; ".join(found.pending))


async def _all_names(client: KubeClient) -> tuple[str, ...]:
    found = [one async for one in client.each(PINNED_IMAGE_SETS.metadata_only())]
    return tuple(sorted(one.metadata.name for one in found))


async def _sets(client: KubeClient, names: tuple[str, ...]) -> dict[str, PinnedImageSet]:
    """One by one: others may be large, and this is done every second."""
    found = {}
    for name in names:
        with contextlib.suppress(kube.NotFound):
            found[name] = await client.get(PINNED_IMAGE_SETS, name)
    return found
