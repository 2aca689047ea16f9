"""The base of the workload reconcilers: caches that show our own writes, and all writes."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from lading.embedded.workloads import kinds
from lading.embedded.workloads.actions import Create, Delete, Patch
from lading.kernel.objects import Key, Object, Resource
from lading.kernel.planning import Plan, RecordEvent
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informers
from lading.loop.reconciler import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube, PatchType

Observed = TypeVar("Observed")
T = TypeVar("T", bound=Object)


class WorkloadContext(msgspec.Struct, frozen=True, kw_only=True):
    kube: Kube
    clock: Clock
    rng: random.Random
    informers: Informers
    recorder: EventRecorder
    metrics: Metrics


class WorkloadReconciler(ABC, Generic[Observed]):
    name: str

    def __init__(self, context: WorkloadContext, *written: Resource[Any]) -> None:
        """`written` are the kinds that this reconciler writes; its keys are of the first kind."""
        self._context = context
        self._caches = {
            resource: ReadYourWrites(context.informers.of(resource), context.clock)
            for resource in written
        }
        self._own_kind = written[0]

    def controller(self) -> Controller:
        """One worker: each reconcile must see the writes of the one before."""
        return Controller(
            name=self.name,
            reconcile=self.reconcile,
            clock=self._context.clock,
            rng=self._context.rng,
            metrics=self._context.metrics,
            workers=1,
        )

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._context.clock, record=self._record)

    @abstractmethod
    async def observe(self, key: Key) -> Observed: ...

    @abstractmethod
    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    async def apply(self, action: Any) -> None:
        match action:
            case Create(resource=resource, key=key):
                # It exists if the cache is late, or if an object of this name is being deleted.
                with suppress(kube.AlreadyExists):
                    made = await self._context.kube.create(
                        resource, action.body, namespace=key.namespace
                    )
                    self._remember(resource, made)
            case Delete(resource=resource, key=key):
                with suppress(kube.NotFound), pipeline.precondition(f"{resource.kind} {key}"):
                    await self._context.kube.delete(
                        resource,
                        key.name,
                        namespace=key.namespace,
                        uid=action.uid,
                        grace_seconds=action.grace_seconds,
                    )
            case Patch(resource=resource, key=key):
                with pipeline.precondition(f"{resource.kind} {key}"):
                    written = await self._context.kube.patch(
                        resource,
                        key.name,
                        action.body,
                        namespace=key.namespace,
                        patch_type=PatchType.STRATEGIC if action.is_strategic else PatchType.MERGE,
                        subresource=action.subresource,
                    )
                self._remember(resource, written)
            case _:
                raise AssertionError(f"no action: {action!r}")

    def cached(self, resource: Resource[T]) -> Iterable[T]:
        return self._caches[resource]

    def get(self, resource: Resource[T], key: Key) -> T | None:
        found: T | None = self._caches[resource].get(key)
        return found

    def controlled(self, resource: Resource[T], owner: Object | None) -> tuple[T, ...]:
        """The objects of this kind that the owner controls."""
        uid = owner.metadata.uid if owner else ""
        return tuple(
            one for one in self.cached(resource) if uid and kinds.controller_uid(one) == uid
        )

    def _remember(self, resource: Resource[Any], written: Object) -> None:
        if resource in self._caches:
            self._caches[resource].add(written)

    def _record(self, key: Key, event: RecordEvent) -> None:
        about = self.get(self._own_kind, key)
        if about is not None:
            self._context.recorder.record_planned(self._own_kind, about, event, action=event.reason)


def owner_keys(kind: str) -> Callable[[Object | None, Object | None], Iterable[Key]]:
    """The keys of the objects of this kind that control a changed object."""

    def keys(*versions: Object | None) -> Iterable[Key]:
        return {
            Key(one.metadata.namespace, owner.name)
            for one in versions
            if one is not None
            for owner in one.metadata.owner_references
            if owner.controller and owner.kind == kind
        }

    return keys
