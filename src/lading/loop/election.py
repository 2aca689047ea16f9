"""One leader among several processes, by a Lease, and no work without the lease.

A candidate takes the lease only after it has seen the same record for the whole lease duration
on its own monotonic clock, so clocks need not agree. A leader that could not renew stops its
work before that moment: its deadline counts from the sending of the last renewal that succeeded,
which is earlier than any candidate can have seen it. What it does step by step asks before each
step, because a process that was paused runs for a moment before it can be stopped.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import structlog

from lading.loop import tasks
from lading.loop.lease import LeaseLock
from lading.loop.tasks import Deadline
from lading.loop.timing import CLIENT_GO_TIMING, RETRY_JITTER_FRACTION, Timing
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube

P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, None]]

log = structlog.get_logger(__name__)


class LeadershipLost(Exception):
    """The lease could not be kept; the work was cancelled."""


class Elector:
    """Identities must be unique per process, not per host: a restart is another candidate."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        namespace: str,
        name: str,
        identity: str,
        timing: Timing = CLIENT_GO_TIMING,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._timing = timing
        self._deadline = Deadline(clock, timing.renew_deadline_seconds)
        self._leading = metrics.leader.labels(f"{namespace}/{name}")
        self._log = log.bind(lease=f"{namespace}/{name}", identity=identity)
        self._lock = LeaseLock(
            kube=kube,
            clock=clock,
            namespace=namespace,
            name=name,
            identity=identity,
            lease_seconds=timing.lease_seconds,
            # Half, so that one lost connection leaves time for another try.
            request_seconds_max=timing.renew_deadline_seconds / 2,
        )

    async def lead(self, work: Work) -> None:
        """Waits for the lease, works while it holds, and releases it when the work has ended.

        Raises LeadershipLost, after the work was cancelled, when the lease could not be kept.
        """
        await self._acquire()
        self._log.info("leading")
        self._leading.set(1)
        try:
            await self._work(work)
        finally:
            self._leading.set(0)
            self._log.info("no longer leading")
            await self._lock.release()

    def guarded(self, step: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        """The same step of the work, which raises LeadershipLost when the lease has run out."""

        async def guard(*args: P.args, **kwargs: P.kwargs) -> R:
            if self._deadline.has_passed():
                raise LeadershipLost("the lease ran out before the process could renew it")
            return await step(*args, **kwargs)

        return guard

    async def _acquire(self) -> None:
        while not await self._lock.try_to_hold():
            jitter = 1 + RETRY_JITTER_FRACTION * self._rng.random()
            await self._clock.sleep(self._timing.retry_seconds * jitter)
        self._deadline.restart(since=self._lock.written_at)

    async def _work(self, work: Work) -> None:
        # The work is the inner block: when the lease is lost, it is the first to be cancelled.
        async with tasks.started(self._renew()) as renewing, tasks.started(work()) as work_:
            first = asyncio.wait({renewing, work_}, return_when=asyncio.FIRST_COMPLETED)
            try:
                await self._deadline.guard(first)
            except TimeoutError as error:
                limit = self._timing.renew_deadline_seconds
                raise LeadershipLost(f"no renewal succeeded within {limit:g} seconds") from error
            if not work_.done():
                raise LeadershipLost("another process took the lease")
            work_.result()

    async def _renew(self) -> None:
        """Renews until the lease turns out to be another's.

        The period counts from the begin of an attempt: where the API server takes seconds to
        answer, a wait after each answer would leave no time for the next attempt.
        """
        tried_at = self._clock.monotonic()
        while not self._lock.is_held_by_another():
            next_at = tried_at + self._timing.retry_seconds
            await self._clock.sleep(max(0.0, next_at - self._clock.monotonic()))
            tried_at = self._clock.monotonic()
            if await self._lock.try_to_hold():
                self._deadline.restart(since=self._lock.written_at)
