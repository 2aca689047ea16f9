"""The record that leader election is about: takes it, renews it, lets go of it.

Knows when a lease is another's: while its record was seen to change within the lease duration,
measured on our own monotonic clock. Every write carries the resourceVersion that was read, so of
two candidates one wins. What to do with a lease is for `election` to say.
"""

import contextlib
from typing import Any

import structlog

from lading.api.coordination import LEASES, Lease, LeaseSpec
from lading.kernel import conditions
from lading.loop import tasks
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
        """Takes or renews it; False when it is another's or the API server does not answer."""
        try:
            return await tasks.within(self._clock, self._request_seconds_max, self._hold())
        except (kube.KubeError, TimeoutError) as error:
            self._log.warning("lease could not be taken or renewed", error=str(error))
            return False

    async def release(self) -> None:
        """Lets another take it at once. Best effort: it runs out by itself anyhow."""
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
