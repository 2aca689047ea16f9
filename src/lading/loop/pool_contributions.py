"""The facts of all components of a process about pools, for the one writer of their status.

Each contributing component has a place from the start. The writer waits until each has complete
caches, or waits for kinds: a status from only some facts would remove what the others reported.
"""

import asyncio
from collections.abc import Callable, Iterable

from lading.ports.pools import PoolContributor, PoolFacts

Wake = Callable[[Iterable[str] | None], None]
"""Called with the names of the pools whose facts changed; None means all pools."""


class PoolContribution:
    """The place of one component."""

    def __init__(self, changed: Wake) -> None:
        self.settled = asyncio.Event()
        self.contributor: PoolContributor | None = None
        self._changed = changed

    def settle(self, contributor: PoolContributor | None) -> None:
        """None for a component that waits for kinds: it has nothing to report."""
        self.contributor = contributor
        self.settled.set()
        self._changed(None)


class PoolContributions:
    def __init__(self) -> None:
        self._places: list[PoolContribution] = []
        self._listeners: list[Wake] = []

    def place(self) -> PoolContribution:
        """Adds a place for the facts of a component. Messages follow the order of places."""
        made = PoolContribution(self.changed)
        self._places.append(made)
        return made

    def listen(self, wake: Wake) -> None:
        self._listeners.append(wake)

    def changed(self, pools: Iterable[str] | None) -> None:
        for wake in self._listeners:
            wake(pools)

    async def wait_settled(self) -> None:
        for one in self._places:
            await one.settled.wait()

    async def recount(self) -> None:
        for contributor in self._contributors():
            await contributor.recount()

    def facts(self, pool: str) -> tuple[PoolFacts, ...]:
        """The facts of every feature that has any. Does not wait."""
        found = (contributor.pool_facts(pool) for contributor in self._contributors())
        return tuple(one for one in found if one is not None)

    def _contributors(self) -> list[PoolContributor]:
        return [one.contributor for one in self._places if one.contributor is not None]
