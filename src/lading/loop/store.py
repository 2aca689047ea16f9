"""The objects of one informer, by key and by secondary indexes. Memory only, no I/O."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from lading.kernel.objects import Key, Object

T = TypeVar("T", bound=Object)
V = TypeVar("V", bound=Hashable)


class CacheIndex(Generic[T, V]):
    """Finds objects by a value that is computed from them, such as a pod's node."""

    def __init__(self, values: Callable[[T], Iterable[V]]) -> None:
        self._values = values
        self._objects: dict[V, dict[Key, T]] = {}

    def find(self, value: V) -> tuple[T, ...]:
        return tuple(self._objects.get(value, {}).values())

    def change(self, key: Key, old: T | None, new: T | None) -> None:
        if old is not None:
            for value in self._values(old):
                self._drop(value, key)
        if new is not None:
            for value in self._values(new):
                self._objects.setdefault(value, {})[key] = new

    def _drop(self, value: V, key: Key) -> None:
        objects = self._objects.get(value, {})
        objects.pop(key, None)
        if not objects:
            self._objects.pop(value, None)


class Store(Generic[T]):
    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes: list[CacheIndex[T, Any]] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """A snapshot: the store may change while the caller iterates."""
        return iter(tuple(self._objects.values()))

    def keys(self) -> Iterable[Key]:
        return self._objects.keys()

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def index(self, values: Callable[[T], Iterable[V]]) -> CacheIndex[T, V]:
        """A new index over all present and future objects."""
        index = CacheIndex(values)
        for key, one in self._objects.items():
            index.change(key, None, one)
        self._indexes.append(index)
        return index

    def put(self, new: T) -> None:
        key = new.key
        old = self._objects.get(key)
        self._objects[key] = new
        for index in self._indexes:
            index.change(key, old, new)

    def remove(self, key: Key) -> T | None:
        old = self._objects.pop(key, None)
        if old is not None:
            for index in self._indexes:
                index.change(key, old, None)
        return old
