"""The images that kubelets list in `node.status.images`, for nodes without an agent.

The lists are large, so they are watched only while a node has no agent, and only hashes of the
names are kept.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import timedelta

from lading.api.core import LISTED_NODES, ListedNode
from lading.kernel.objects import Key
from lading.loop.reflector import Reflector
from lading.observability.metrics import Metrics
from lading.ports.clock import Clock
from lading.ports.kube import EVERYTHING, Kube
from lading.prepull import presence
from lading.prepull.presence import ImageList


class NodeImageLists:
    """Filled by its own watch, which starts when the lists are first needed."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        delay: timedelta,
    ) -> None:
        self._delay = delay
        self._lists: dict[str, ImageList] = {}
        self._is_wanted = asyncio.Event()
        self._listeners: list[Callable[[str], None]] = []
        self._reflector: Reflector[ListedNode] = Reflector(
            kube=kube,
            clock=clock,
            rng=rng,
            metrics=metrics,
            resource=LISTED_NODES,
            selection=EVERYTHING,
            sink=self,
        )

    @property
    def is_wanted(self) -> bool:
        return self._is_wanted.is_set()

    def want(self) -> None:
        self._is_wanted.set()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Called with the name of a node that has another list."""
        self._listeners.append(listener)

    def get(self, name: str) -> ImageList | None:
        return self._lists.get(name)

    async def run(self) -> None:
        await self._is_wanted.wait()
        await self._reflector.run()

    def known_keys(self) -> Iterable[Key]:
        return [Key("", name) for name in self._lists]

    def put(self, new: ListedNode) -> None:
        found = presence.of_node(new, delay=self._delay)
        if found != self._lists.get(new.metadata.name):
            self._lists[new.metadata.name] = found
            self._notify(new.metadata.name)

    def remove(self, key: Key) -> None:
        self._lists.pop(key.name, None)
        self._notify(key.name)

    def reached(self, revision: str) -> None:
        pass

    def complete(self) -> None:
        """Nothing waits for the whole list."""

    def _notify(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)
