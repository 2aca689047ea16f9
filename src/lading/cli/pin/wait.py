"""`lading pin wait`: waits until sets are ready, for scripts; the exit code is the result.

A condition counts only for the newest generation of its set.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from datetime import timedelta

import click
import msgspec

from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.cli import connection, output, running
from lading.cli.connection import Target
from lading.cli.error_messages import CommandTimedOut
from lading.cli.terminal import ProgressLine
from lading.kernel import conditions, durations, texts
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.reasons import ConditionType, Reason
from lading.ports import kube
from lading.ports.clock import Clock
from lading.wiring.clock import system_clock

LOOK_SECONDS = 1.0
ANSWER_SECONDS_MAX = 10.0
TIMEOUT = "30m"  # some 100 GiB at 60 MiB/s
_NEVER_READY = (Reason.NO_NODES, Reason.GATE_OFF)
"""A retry does not help; a person must change something."""


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
    end = clock.monotonic() + timeout.total_seconds()
    async with target.open() as client:
        names = names or await _all_names(client)
        if not names:
            raise click.ClickException(
                "there is no PinnedImageSet to wait for; create one with `lading pin create`"
            )
        with ProgressLine() as line:
            while pending := await _pending(client, names):
                line.show(pending)
                left_seconds = end - clock.monotonic()
                if left_seconds <= 0:
                    spent = durations.format_duration(timeout)
                    raise CommandTimedOut(f"not done after {spent}; {pending}")
                await clock.sleep(min(LOOK_SECONDS, left_seconds))
    for name in names:
        click.echo(f"pinnedimageset/{name} is ready")


async def _pending(client: KubeClient, names: tuple[str, ...]) -> str:
    """The sets that are not ready. An API server that does not answer is waited for."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            found = readiness(await _sets(client, names), names)
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
    """Reads only the named sets, because this runs every second and others may be large."""
    found = {}
    for name in names:
        with contextlib.suppress(kube.NotFound):
            found[name] = await client.get(PINNED_IMAGE_SETS, name)
    return found


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    ready: tuple[str, ...]
    failed: tuple[str, ...]
    """A sentence for each reason."""
    pending: tuple[str, ...]
    """A sentence for each set."""


def readiness(sets: Mapping[str, PinnedImageSet], names: Iterable[str]) -> Readiness:
    ready: list[str] = []
    failed: list[str] = []
    pending: list[str] = []
    for name in names:
        image_set = sets.get(name)
        if image_set is None or image_set.metadata.deletion_timestamp:
            failed.append(f"{name}: there is no PinnedImageSet of this name")
            continue
        condition = _current(image_set, ConditionType.READY)
        if condition is not None and condition.status is Truth.TRUE:
            ready.append(name)
        elif problems := _problems(image_set, condition):
            failed += (f"{name}: {problem}" for problem in problems)
        else:
            pending.append(f"{name}: {_waiting_for(condition)}")
    return Readiness(ready=tuple(ready), failed=tuple(failed), pending=tuple(pending))


def _current(image_set: PinnedImageSet, type_: ConditionType) -> Condition | None:
    found = conditions.find(image_set.status.conditions, type_)
    is_current = found and found.observed_generation == image_set.metadata.generation
    return found if is_current else None


def _problems(image_set: PinnedImageSet, ready: Condition | None) -> tuple[str, ...]:
    degraded = _current(image_set, ConditionType.DEGRADED)
    if degraded is not None and degraded.status is Truth.TRUE:
        nodes_with: dict[str, list[str]] = {}
        for one in image_set.status.failures:
            nodes_with.setdefault(one.message, []).append(one.node)
        named = (f"{output.names(nodes)}: {text}" for text, nodes in nodes_with.items())
        return tuple(named) or (degraded.message,)
    if ready is not None and ready.reason in _NEVER_READY:
        return (ready.message,)
    return ()


def _waiting_for(ready: Condition | None) -> str:
    if ready is None:
        return "the controller has not observed the newest generation yet"
    return ready.message
