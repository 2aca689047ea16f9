"""The base of the workload reconcilers: caches with our own writes, and one way to write."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from lading.kernel.objects import Key, Object, Resource
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informers
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.standalone.workloads.apply import Applier

Observed = TypeVar("Observed")
T = TypeVar("T", bound=Object)


class WorkloadContext(msgspec.Struct, frozen=True, kw_only=True):
    """What every workload controller gets."""

    kube: Kube
    clock: Clock
    rng: random.Random
    informers: Informers
    recorder: EventRecorder
    metrics: Metrics


class WorkloadReconciler(ABC, Generic[Observed]):
    name: str

    def __init__(self, context: WorkloadContext, *written: Resource[Any]) -> None:
        """`written` are the kinds of which our own writes must be seen at once."""
        self._context = context
        self._caches = {
            resource: ReadYourWrites(context.informers.of(resource), context.clock)
            for resource in written
        }
        self._applier = Applier(kube=context.kube, recorder=context.recorder, caches=self._caches)

    def controller(self, *, workers: int = 1) -> Controller:
        """One worker: what one reconcile writes, the next one must see."""
        return Controller(
            name=self.name,
            reconcile=self.reconcile,
            clock=self._context.clock,
            rng=self._context.rng,
            metrics=self._context.metrics,
            workers=workers,
        )

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._context.clock)

    @abstractmethod
    async def observe(self, key: Key) -> Observed: ...

    @abstractmethod
    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    async def apply(self, action: Any) -> None:
        await self._applier.apply(action)

    def cached(self, resource: Resource[T]) -> Iterable[T]:
        return self._caches[resource]

    def get(self, resource: Resource[T], key: Key) -> T | None:
        found: T | None = self._caches[resource].get(key)
        return found


def owner_keys(kind: str, *objects: Object | None) -> Iterable[Key]:
    """The keys of the objects of a kind that control these."""
    for one in objects:
        if one is not None:
            for owner in one.metadata.owner_references:
                if owner.controller and owner.kind == kind:
                    yield Key(one.metadata.namespace, owner.name)
