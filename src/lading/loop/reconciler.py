"""The base of every reconciler of objects: keys are namespace and name, objects are of one kind.

It reads an object with our own writes, remembers when its status was written, and records events
about it. What to observe, plan and apply is for the feature to say.
"""

from abc import ABC, abstractmethod
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from lading.kernel import pacing
from lading.kernel.objects import Key, Object, Resource
from lading.kernel.pacing import Writes
from lading.kernel.planning import Plan
from lading.loop import event_series, pipeline
from lading.loop.event_series import Severity
from lading.loop.informer import Informer
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.ports.clock import Clock

T = TypeVar("T", bound=Object)
Observed = TypeVar("Observed")


class ObjectReconciler(ABC, Generic[T, Observed]):
    def __init__(self, *, informer: Informer[T], clock: Clock, recorder: EventRecorder) -> None:
        self._resource: Resource[T] = informer.resource
        self._clock = clock
        self._recorder = recorder
        self._objects = ReadYourWrites(informer, clock)
        self._status_writes: dict[Key, Writes] = {}
        informer.add_handler(self._forget)

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    @abstractmethod
    async def observe(self, key: Key) -> Observed: ...

    @abstractmethod
    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    @abstractmethod
    async def apply(self, action: Any) -> None: ...

    def status_writes(self, key: Key) -> Writes:
        """When this process wrote the status of the object; nothing after a restart."""
        return self._status_writes.get(key, ())

    def status_written(self, key: Key) -> None:
        self._status_writes[key] = pacing.with_write(self.status_writes(key), self._clock.now())

    def record(self, key: Key, *, reason: StrEnum, action: str, note: str, warning: bool) -> None:
        """An event about the object; nothing when it is gone."""
        one = self._objects.get(key)
        if one is None:
            return
        self._recorder.record(
            event_series.reference(self._resource, one),
            reason=reason,
            action=action,
            note=note,
            severity=Severity.WARNING if warning else Severity.NORMAL,
        )

    def _forget(self, old: T | None, new: T | None) -> None:
        if new is None and old is not None:
            self._status_writes.pop(old.key, None)
