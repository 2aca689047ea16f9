"""Turns changes into keys and keys into reconciles, with a bounded number of workers.

A reconcile returns when it wants to be called again. If it raises, its key alone is retried after
a growing delay; an exception never stops a worker.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

import structlog

from lading.kernel.objects import Key, Object
from lading.loop.election import LeadershipLost
from lading.loop.informer import Handler
from lading.loop.pipeline import PreconditionFailed
from lading.loop.queue import WorkQueue
from lading.observability.metrics import Metrics
from lading.ports import cri, kube, registry
from lading.ports.clock import Clock

T = TypeVar("T", bound=Object)
Watched = TypeVar("Watched", bound=Object, covariant=True)
Reconcile = Callable[[Key], Awaitable[datetime | None]]
Mapping = Callable[[T | None, T | None], Iterable[Key]]
WORKERS = 4
REPLANNED = (PreconditionFailed,)
TRANSIENT = (
    *REPLANNED,
    kube.Transient,
    kube.Conflict,
    cri.Transient,
    registry.Transient,
    LeadershipLost,
    TimeoutError,
)

log = structlog.get_logger(__name__)


class Outcome(StrEnum):
    SUCCESS = "success"
    REPLAN = "replan"
    """The object changed since it was observed; the key is planned again."""
    TRANSIENT = "transient"
    """A retry may succeed."""
    ERROR = "error"
    """Unexpected: it is logged with its trace."""


class Watchable(Protocol[Watched]):
    """An informer, or an optional one."""

    def add_handler(self, handler: Handler[Watched]) -> None: ...


class Controller:
    def __init__(
        self,
        *,
        name: str,
        reconcile: Reconcile,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        workers: int = WORKERS,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._clock = clock
        self._workers = workers
        self._queue: WorkQueue[Key] = WorkQueue(clock, rng)
        self._outcomes = {one: metrics.reconciles.labels(name, one) for one in Outcome}
        self._seconds = metrics.reconcile_seconds.labels(name)
        self._log = log.bind(controller=name)
        metrics.watch_queue(name, lambda: len(self._queue))

    def watch(
        self, informer: Watchable[T], mapping: Mapping[T], *, debounce_seconds: float = 0.0
    ) -> None:
        """Reconciles the keys that the mapping finds for each change of the informer.

        With `debounce_seconds`, changes that come close together cost one reconcile.
        """

        def enqueue(old: T | None, new: T | None) -> None:
            self.wake(*mapping(old, new), debounce_seconds=debounce_seconds)

        informer.add_handler(enqueue)

    def wake(self, *keys: Key, debounce_seconds: float = 0.0) -> None:
        """Reconciles the keys soon, for a reason that no informer sees (a finished pull).

        In their order: a set of keys has another order in each process, and a run that cannot be
        repeated cannot be examined.
        """
        for key in sorted(keys):
            self._queue.add_after(key, debounce_seconds)

    async def run(self) -> None:
        """Runs until cancelled, which also cancels running reconciles."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._queue.run())
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            async with self._queue.next() as key:
                started_at = self._clock.monotonic()
                outcome = await self._attempt(key)
                self._seconds.observe(self._clock.monotonic() - started_at)
                self._outcomes[outcome].inc()
            # A reconcile that finds nothing to do awaits nothing; other tasks get their turn here.
            await asyncio.sleep(0)

    async def _attempt(self, key: Key) -> Outcome:
        try:
            recheck_at = await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 - the one place where a bug must not stop others
            outcome = outcome_of(error)
            self._report(key, error, outcome, failures=self._queue.retry(key))
            return outcome
        self._queue.forget(key)
        if recheck_at is not None:
            self._queue.add_after(key, (recheck_at - self._clock.now()).total_seconds())
        return Outcome.SUCCESS

    def _report(self, key: Key, error: Exception, outcome: Outcome, *, failures: int) -> None:
        trace = error if outcome is Outcome.ERROR else None
        level = self._log.error if outcome is Outcome.ERROR else self._log.warning
        level(
            "reconcile failed",
            key=str(key),
            outcome=outcome,
            error=describe(error),
            failures=failures,
            exc_info=trace,
        )


def own_key(old: T | None, new: T | None) -> Iterable[Key]:
    """The mapping of a controller that reconciles the objects that it watches."""
    one = old if new is None else new
    return () if one is None else (one.key,)


def outcome_of(error: Exception) -> Outcome:
    if consists_of(error, REPLANNED):
        return Outcome.REPLAN
    return Outcome.TRANSIENT if consists_of(error, TRANSIENT) else Outcome.ERROR


def consists_of(error: Exception, types: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, ExceptionGroup):
        return error.split(types)[1] is None
    return isinstance(error, types)


def describe(error: Exception) -> str:
    """The error on one line; for a group, the errors in it."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(describe(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"
