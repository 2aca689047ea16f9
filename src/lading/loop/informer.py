"""A shared cache of one resource that calls its handlers for each change.

`Informers` hands out one informer per resource and selection, and runs them all. An informer
does no I/O: a reflector feeds it. Handlers are plain functions, called with (old, new), where
None means that the object did not or does not exist. They must return at once.
"""

import asyncio
import copy
import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key, Object, Resource
from lading.loop.reflector import Reflector
from lading.loop.store import CacheIndex, Store
from lading.observability.metrics import Metrics, resource_label
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import EVERYTHING, Kube, Selection

T = TypeVar("T", bound=Object)
V = TypeVar("V", bound=Hashable)
Handler = Callable[[T | None, T | None], None]


class Informer(Generic[T]):
    def __init__(self, resource: Resource[T], selection: Selection = EVERYTHING) -> None:
        self.resource = resource
        self.selection = selection
        self.synced = asyncio.Event()
        self.revision = 0
        """The cache shows every write up to this one, deletions too."""
        self._store: Store[T] = Store()
        self._handlers: list[Handler[T]] = []

    def __len__(self) -> int:
        return len(self._store)

    def __iter__(self) -> Iterator[T]:
        return iter(self._store)

    def get(self, key: Key) -> T | None:
        return self._store.get(key)

    def index(self, values: Callable[[T], Iterable[V]]) -> CacheIndex[T, V]:
        """A secondary index: `by_node = pods.index(lambda pod: (pod.spec.node_name,))`."""
        return self._store.index(values)

    def add_handler(self, handler: Handler[T]) -> None:
        """Calls the handler for every object in the cache, and then for every change."""
        for one in self._store:
            handler(None, one)
        self._handlers.append(handler)

    def known_keys(self) -> Iterable[Key]:
        return self._store.keys()

    def put(self, new: T) -> None:
        """After a restore from a backup, a revision may come again with other content."""
        old = self._store.get(new.key)
        is_known = old is not None and (
            old.metadata.resource_version == new.metadata.resource_version and old == new
        )
        if not is_known:
            self._store.put(new)
            self._notify(old, new)

    def remove(self, key: Key) -> None:
        old = self._store.remove(key)
        if old is not None:
            self._notify(old, None)

    def reached(self, revision: str) -> None:
        self.revision = int(revision) if revision.isdigit() else 0

    def complete(self) -> None:
        self.synced.set()

    def _notify(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            handler(old, new)


class Informers:
    """Shares one informer per resource and selection among all its users."""

    def __init__(self, *, kube: Kube, clock: Clock, rng: random.Random, metrics: Metrics) -> None:
        self._kube = kube
        self._clock = clock
        self._rng = rng
        self._metrics = metrics
        self._informers: dict[tuple[Resource[Any], Selection], Informer[Any]] = {}
        self._new: asyncio.Queue[Informer[Any]] = asyncio.Queue()
        self._asked_for: dict[Informer[Any], None] = {}

    def scoped(self) -> "Informers":
        """The same informers for one user, who waits only for those that it requested."""
        one = copy.copy(self)
        one._asked_for = {}  # noqa: SLF001 - a copy of ourselves
        return one

    def of(self, resource: Resource[T], selection: Selection = EVERYTHING) -> Informer[T]:
        informer = self._informers.get((resource, selection))
        if informer is None:
            informer = self._informers[resource, selection] = Informer(resource, selection)
            self._new.put_nowait(informer)
            self._metrics.watch_informer(resource, lambda: self._count(resource_label(resource)))
        self._asked_for[informer] = None
        return informer

    def unsynced(self) -> tuple[str, ...]:
        """The resources with incomplete caches; empty means ready."""
        return tuple(one.resource.plural for one in self._asked_for if not one.synced.is_set())

    async def wait_synced(self) -> None:
        for informer in self._asked_for:
            await informer.synced.wait()

    async def run(self) -> None:
        """Keeps all informers up to date, also later ones, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                informer = await self._new.get()
                group.create_task(self._reflector(informer).run())

    def _reflector(self, informer: Informer[T]) -> Reflector[T]:
        return Reflector(
            kube=self._kube,
            clock=self._clock,
            rng=self._rng,
            metrics=self._metrics,
            resource=informer.resource,
            selection=informer.selection,
            sink=informer,
        )

    def _count(self, label: str) -> int:
        """Counts the objects in all caches of the resource."""
        named = (one for one in self._informers.values() if resource_label(one.resource) == label)
        return sum(map(len, named))


RECHECK = Backoff(seconds_min=1, seconds_max=300)  # a kind that comes later is rare


class OptionalInformer(Generic[T]):
    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        rng: random.Random,
        informers: Informers,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._rng = rng
        self._informers = informers.scoped()
        self._resource = resource
        self._selection = selection
        self._handlers: list[Handler[T]] = []
        self._informer: Informer[T] | None = None

    def add_handler(self, handler: Handler[T]) -> None:
        """Calls the handler for every change once the kind is watched."""
        self._handlers.append(handler)
        if self._informer is not None:
            self._informer.add_handler(handler)

    async def get(self, name: str, *, namespace: str = "") -> T | None:
        """None if the object or its kind does not exist."""
        if self._informer is not None and self._informer.synced.is_set():
            return self._informer.get(Key(namespace, name))
        try:
            return await self._kube.get(self._resource, name, namespace=namespace)
        except kube.NotFound:
            return None

    async def run(self) -> None:
        """Returns when the kind is watched."""
        failures = 0
        while not await self._is_served():
            failures += 1
            delay = RECHECK.delay_seconds(failures=failures, jitter=self._rng.random())
            await self._clock.sleep(delay)
        self._informer = self._informers.of(self._resource, self._selection)
        for handler in self._handlers:
            self._informer.add_handler(handler)

    async def _is_served(self) -> bool:
        try:
            await self._kube.page(self._resource, self._selection, limit=1)
        except kube.KubeError:
            return False
        return True
