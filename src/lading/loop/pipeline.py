"""Runs observe -> plan -> apply once, lane by lane.

Within a lane the first failure drops the rest; one lane never stops another. Failures are
raised after all lanes have ended, so that the controller plans the key again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol, TypeVar

import structlog

from lading.kernel.objects import Key
from lading.kernel.planning import Action, Plan, RecordEvent
from lading.ports import kube
from lading.ports.clock import Clock

LANES_AT_ONCE_MAX = 16  # a plan over many objects must not flood the API server
Observed = TypeVar("Observed")
Record = Callable[[Key, RecordEvent], None]

log = structlog.get_logger(__name__)


class PreconditionFailed(Exception):
    """An object changed between observe and apply; the rest of the lane is dropped."""


class Reconciler(Protocol[Observed]):
    """A feature's three steps; only `observe` reads and only `apply` writes."""

    async def observe(self, key: Key) -> Observed: ...

    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    async def apply(self, action: Any) -> None: ...


@contextmanager
def precondition(what: str) -> Iterator[None]:
    """Turns a conflict or a missing object into PreconditionFailed."""
    try:
        yield
    except (kube.Conflict, kube.NotFound) as error:
        raise PreconditionFailed(f"{what} changed since it was observed: {error}") from error


def no_events(key: Key, event: RecordEvent) -> None:
    raise AssertionError(f"this reconciler records no events: {key} {event.reason}")


async def reconcile(
    reconciler: Reconciler[Observed], key: Key, clock: Clock, *, record: Record = no_events
) -> datetime | None:
    """Reconcile the key once and return when to look again. Raises ExceptionGroup."""
    observed = await reconciler.observe(key)
    plan = reconciler.plan(observed, clock.now())
    await apply_lanes(plan, reconciler.apply, key, record=record)
    return plan.recheck_at


async def apply_lanes(
    plan: Plan, apply: Callable[[Any], Awaitable[None]], key: Key, *, record: Record = no_events
) -> None:
    free = asyncio.Semaphore(LANES_AT_ONCE_MAX)

    async def walk_lane(actions: tuple[Action, ...]) -> None:
        async with free:
            for action in actions:
                name = type(action).__name__
                log.info("applying", key=str(key), action=name, because=action.because)
                if isinstance(action, RecordEvent):
                    record(key, action)
                else:
                    await apply(action)

    lanes = [walk_lane(actions) for actions in plan.lanes().values()]
    results = await asyncio.gather(*lanes, return_exceptions=True)
    failures = [result for result in results if isinstance(result, Exception)]
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(lanes)} lanes of {key} failed", failures)
