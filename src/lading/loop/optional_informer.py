"""The cache of a kind that a cluster need not have, and from when it has it.

Nothing waits for such a kind. Until it is served it is asked for ever more rarely, and an object
of it is read from the API server; from then on it is watched like any other.
"""

import random
from typing import Generic, TypeVar

from lading.kernel.backoff import Backoff
from lading.kernel.objects import Key, Object, Resource
from lading.loop.informer import Handler, Informer, Informers
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube

T = TypeVar("T", bound=Object)
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
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._rng = rng
        self._informers = informers.scoped()
        self._resource = resource
        self._handlers: list[Handler[T]] = []
        self._informer: Informer[T] | None = None

    def add_handler(self, handler: Handler[T]) -> None:
        """Calls the handler for every change, from when the kind is watched."""
        self._handlers.append(handler)
        if self._informer is not None:
            self._informer.add_handler(handler)

    async def get(self, name: str) -> T | None:
        """A cluster-scoped object; None where it, or its kind, does not exist."""
        if self._informer is not None and self._informer.synced.is_set():
            return self._informer.get(Key("", name))
        try:
            return await self._kube.get(self._resource, name)
        except kube.NotFound:
            return None

    async def run(self) -> None:
        """Ends when the kind is watched."""
        failures = 0
        while not await self._is_served():
            failures += 1
            delay = RECHECK.delay_seconds(failures=failures, jitter=self._rng.random())
            await self._clock.sleep(delay)
        self._informer = self._informers.of(self._resource)
        for handler in self._handlers:
            self._informer.add_handler(handler)

    async def _is_served(self) -> bool:
        try:
            await self._kube.page(self._resource, limit=1)
        except kube.KubeError:
            return False
        return True
