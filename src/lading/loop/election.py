"""Elects one leader among several processes by a Lease; only the leader works.

A candidate takes the lease only after it has seen the same record for the whole lease duration
on its own monotonic clock, so clocks need not agree. A leader that cannot renew stops its
work before that: its deadline counts from when it sent the last successful renewal, and no
candidate saw that renewal earlier. Work in steps checks the lease before each step, because a
process that was paused runs for a moment before it is stopped.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import msgspec
import structlog

from lading.api.core import LEASES, Lease, LeaseSpec
from lading.kernel import conditions
from lading.loop import tasks
from lading.loop.tasks import Deadline
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

log = structlog.get_logger(__name__)


class LeaseLock:
    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        namespace: str,
        name: str,
        identity: str,
        lease_seconds: int,
        request_seconds_max: float,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._lease_seconds = lease_seconds
        self._request_seconds_max = request_seconds_max
        self._seen: Lease | None = None
        self._seen_at = 0.0
        self.written_at = 0.0
        """When the last write that succeeded was sent; no candidate can have seen it earlier."""
        self._log = log.bind(lease=f"{namespace}/{name}", identity=identity)

    async def try_to_hold(self) -> bool:
        """Takes or renews the lease; False if another has it or the API server does not answer."""
        try:
            return await tasks.within(self._clock, self._request_seconds_max, self._hold())
        except (kube.KubeError, TimeoutError) as error:
            self._log.warning("lease could not be taken or renewed", error=str(error))
            return False

    async def release(self) -> None:
        """Lets another process take the lease at once. Best effort: the lease also expires."""
        if self._seen is None or self._seen.spec.holder_identity != self._identity:
            return
        freed = {"holderIdentity": None, "leaseDurationSeconds": 1}
        try:
            await tasks.within(
                self._clock, self._request_seconds_max, self._patch(self._seen, freed)
            )
        except (kube.KubeError, TimeoutError) as error:
            self._log.warning("lease was not released", error=str(error))

    def is_held_by_another(self) -> bool:
        if self._seen is None or self._seen.spec.holder_identity in (None, "", self._identity):
            return False
        duration = self._seen.spec.lease_duration_seconds or self._lease_seconds
        return self._clock.monotonic() < self._seen_at + duration

    async def _hold(self) -> bool:
        if self._seen is not None and self._seen.spec.holder_identity == self._identity:
            with contextlib.suppress(kube.Conflict, kube.NotFound):  # then it is read first
                await self._write(self._seen)
                return True
        try:
            lease = await self._kube.get(LEASES, self._name, namespace=self._namespace)
        except kube.NotFound:
            await self._write(None)
            return True
        self._see(lease)
        if self.is_held_by_another():
            return False
        await self._write(lease)
        return True

    async def _write(self, read: Lease | None) -> None:
        sent_at = self._clock.monotonic()
        if read is None:
            written = await self._create()
        else:
            written = await self._patch(read, self._spec(read.spec))
        self.written_at = sent_at
        self._see(written)

    def _see(self, lease: Lease) -> None:
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen_at = self._clock.monotonic()
        self._seen = lease

    def _spec(self, old: LeaseSpec) -> dict[str, Any]:
        now = conditions.micro_timestamp(self._clock.now())
        renewed = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._lease_seconds,
            "renewTime": now,
        }
        if old.holder_identity == self._identity:
            return renewed
        return renewed | {"acquireTime": now, "leaseTransitions": (old.lease_transitions or 0) + 1}

    async def _create(self) -> Lease:
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": self._spec(LeaseSpec(lease_transitions=-1)),
        }
        return await self._kube.create(LEASES, body, namespace=self._namespace)

    async def _patch(self, read: Lease, spec: dict[str, Any]) -> Lease:
        patch = {"metadata": {"resourceVersion": read.metadata.resource_version}, "spec": spec}
        return await self._kube.patch(LEASES, self._name, patch, namespace=self._namespace)


P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, None]]

RETRY_JITTER_FRACTION = 1.2  # as client-go, so that candidates do not move in step


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are those of client-go. The work stops between the first two times."""

    lease_seconds: int = 15
    renew_deadline_seconds: float = 10
    retry_seconds: float = 2

    def __post_init__(self) -> None:
        if self.lease_seconds <= self.renew_deadline_seconds:
            raise ValueError("the lease duration must be longer than the renew deadline")
        if self.renew_deadline_seconds <= self.retry_seconds * (1 + RETRY_JITTER_FRACTION):
            factor = 1 + RETRY_JITTER_FRACTION
            raise ValueError(
                f"the renew deadline must be longer than {factor:g} times the retry period"
            )


CLIENT_GO_TIMING = Timing()


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
        """Wraps a step of the work; it raises LeadershipLost if the lease has expired."""

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
        """Renews until another process has the lease.

        The period counts from the start of an attempt: if the API server takes seconds to answer,
        a wait after each answer would leave no time for the next attempt.
        """
        tried_at = self._clock.monotonic()
        while not self._lock.is_held_by_another():
            next_at = tried_at + self._timing.retry_seconds
            await self._clock.sleep(max(0.0, next_at - self._clock.monotonic()))
            tried_at = self._clock.monotonic()
            if await self._lock.try_to_hold():
                self._deadline.restart(since=self._lock.written_at)
