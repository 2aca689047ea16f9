"""Runs observe -> plan -> apply once, lane by lane.

Within a lane the first failure drops the rest; one lane never stops another. What failed is
raised when all lanes have ended, so that the controller plans the key again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol, TypeVar

import structlog

from lading.kernel.objects import Key
from lading.kernel.planning import Action, Plan
from lading.ports import kube
from lading.ports.clock import Clock

LANES_AT_ONCE_MAX = 16  # a plan over many objects must not flood the API server
Observed = TypeVar("Observed")

log = structlog.get_logger(__name__)


class PreconditionFailed(Exception):
    """The world moved between observe and apply; what follows in the lane no longer holds."""


class Reconciler(Protocol[Observed]):
    """A feature's three steps; only `observe` reads and only `apply` writes."""

    async def observe(self, key: Key) -> Observed: ...

    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    async def apply(self, action: Any) -> None: ...


@contextmanager
def precondition(what: str) -> Iterator[None]:
    """Declares that a conflict or a vanished object means: plan again."""
    try:
        yield
    except (kube.Conflict, kube.NotFound) as error:
        raise PreconditionFailed(f"{what} changed since it was observed: {error}") from error


async def reconcile(reconciler: Reconciler[Observed], key: Key, clock: Clock) -> datetime | None:
    """One reconcile of the key; returns when to look again. Raises ExceptionGroup."""
    observed = await reconciler.observe(key)
    plan = reconciler.plan(observed, clock.now())
    await apply_lanes(plan, reconciler.apply, key)
    return plan.recheck_at


async def apply_lanes(plan: Plan, apply: Callable[[Any], Awaitable[None]], key: Key) -> None:
    free = asyncio.Semaphore(LANES_AT_ONCE_MAX)

    async def walk_lane(actions: tuple[Action, ...]) -> None:
        async with free:
            for action in actions:
                name = type(action).__name__
                log.info("applying", key=str(key), action=name, because=action.because)
                await apply(action)

    lanes = [walk_lane(actions) for actions in plan.lanes().values()]
    results = await asyncio.gather(*lanes, return_exceptions=True)
    failures = [result for result in results if isinstance(result, Exception)]
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(lanes)} lanes of {key} failed", failures)
