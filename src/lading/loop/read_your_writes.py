"""An informer's cache together with our own writes that it does not show yet.

Without it a reconcile that follows a write would decide on the object of before and write again.
A write is forgotten as soon as the cache shows it, something newer, or the deletion of the object.
It expires in any case: an API server that was restored from a backup counts revisions from an
earlier one, and would never seem to catch up.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from lading.kernel.objects import Key, Object
from lading.loop.informer import Informer
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
        """Every object as `get` finds it, also those that the cache does not show yet."""
        keys = tuple(dict.fromkeys((*self._informer.known_keys(), *self._writes)))
        return (one for one in map(self.get, keys) if one is not None)

    def get(self, key: Key) -> T | None:
        """The object as cached, or as we wrote it last."""
        cached, write = self._informer.get(key), self._writes.get(key)
        if write is None:
            return cached
        if self._clock.monotonic() >= write.expires_at or _is_another(cached, write.object):
            del self._writes[key]
            return cached
        return write.object

    def add(self, written: T) -> None:
        """Remembers what the API server answered to a write."""
        cached = self._informer.get(written.key)
        if cached is not None and _shows(cached, written):
            return
        expires_at = self._clock.monotonic() + EXPIRY_SECONDS
        self._writes[written.key] = _Write(written, expires_at)

    def _cache_changed(self, old: T | None, new: T | None) -> None:
        key = new.key if new is not None else old.key if old is not None else None
        write = self._writes.get(key) if key is not None else None
        if key is not None and write is not None and (new is None or _shows(new, write.object)):
            del self._writes[key]


def _is_another(cached: T | None, written: T) -> bool:
    """The same name, but another object: one of them was deleted and made again."""
    return cached is not None and cached.metadata.uid != written.metadata.uid


def _shows(cached: Object, written: Object) -> bool:
    return _revision(cached) >= _revision(written)


def _revision(one: Object) -> int:
    return int(one.metadata.resource_version or 0)
