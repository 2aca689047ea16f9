"""The base of every reconciler of objects: keys are namespace and name, objects are of one kind.

It reads an object with our own writes, remembers when its status was written, and records events
about it. The feature defines observe, plan and apply.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from lading.kernel.objects import Key, Object, Resource
from lading.kernel.planning import Plan, RecordEvent
from lading.loop import pipeline
from lading.loop.informer import Informer
from lading.loop.recorder import EventRecorder
from lading.ports.clock import Clock

T = TypeVar("T", bound=Object)
EXPIRY_SECONDS = 30.0  # a watch lags by less; if not, a write is repeated, which is harmless


class _Write(msgspec.Struct, Generic[T], frozen=True):
    object: T
    expires_at: float
    """On the monotonic clock."""


class ReadYourWrites(Generic[T]):
    def __init__(self, informer: Informer[T], clock: Clock) -> None:
        self._informer = informer
        self._clock = clock
        self._writes: dict[Key, _Write[T]] = {}
        informer.add_handler(self._cache_changed)

    def __len__(self) -> int:
        """The number of writes that the cache does not show yet."""
        return len(self._writes)

    def __iter__(self) -> Iterator[T]:
        """Every object as `get` returns it, also those that the cache does not show yet."""
        keys = tuple(dict.fromkeys((*self._informer.known_keys(), *self._writes)))
        return (one for one in map(self.get, keys) if one is not None)

    def get(self, key: Key) -> T | None:
        """The newer of the cached object and our last write."""
        cached, write = self._informer.get(key), self._writes.get(key)
        if write is None:
            return cached
        if self._clock.monotonic() >= write.expires_at or _is_another(cached, write.object):
            del self._writes[key]
            return cached
        return write.object

    def add(self, written: T) -> None:
        """Remembers the answer of the API server to a write.

        The answer may come after the watch has shown the write, and even the deletion of the
        object. No event would end such a memory.
        """
        cached = self._informer.get(written.key)
        if self._informer.revision >= _revision(written) or (
            cached is not None and _shows(cached, written)
        ):
            return
        expires_at = self._clock.monotonic() + EXPIRY_SECONDS
        self._writes[written.key] = _Write(written, expires_at)

    def _cache_changed(self, old: T | None, new: T | None) -> None:
        key = new.key if new is not None else old.key if old is not None else None
        write = self._writes.get(key) if key is not None else None
        if key is not None and write is not None and (new is None or _shows(new, write.object)):
            del self._writes[key]


def _is_another(cached: T | None, written: T) -> bool:
    """Whether the objects share only the name: one was deleted and created again."""
    return cached is not None and cached.metadata.uid != written.metadata.uid


def _shows(cached: Object, written: Object) -> bool:
    return _revision(cached) >= _revision(written)


def _revision(one: Object) -> int:
    return int(one.metadata.resource_version or 0)


Observed = TypeVar("Observed")


class ObjectReconciler(ABC, Generic[T, Observed]):
    event_action: str
    """The `action` of its events: what this reconciler does, in UpperCamelCase."""

    def __init__(self, *, informer: Informer[T], clock: Clock, recorder: EventRecorder) -> None:
        self._resource: Resource[T] = informer.resource
        self._clock = clock
        self._recorder = recorder
        self._objects = ReadYourWrites(informer, clock)
        self._statuses_at: dict[Key, datetime] = {}
        informer.add_handler(self._forget)

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock, record=self.record)

    @abstractmethod
    async def observe(self, key: Key) -> Observed: ...

    @abstractmethod
    def plan(self, observed: Observed, now: datetime) -> Plan: ...

    @abstractmethod
    async def apply(self, action: Any) -> None: ...

    def status_at(self, key: Key) -> datetime | None:
        """When this process last wrote the status of the object; None after a restart."""
        return self._statuses_at.get(key)

    def status_written(self, key: Key) -> None:
        self._statuses_at[key] = self._clock.now()

    def record(self, key: Key, event: RecordEvent) -> None:
        """Record an event about the object, unless the object is gone."""
        one = self._objects.get(key)
        if one is not None:
            self._recorder.record_planned(self._resource, one, event, action=self.event_action)

    def _forget(self, old: T | None, new: T | None) -> None:
        if new is None and old is not None:
            self._statuses_at.pop(old.key, None)
