"""What agents answer about what is open, asked once for all pages that show the same.

Agents are asked through the API server with the user's rights. Without an answer the figures are
those of the status, and what garbage collection would take is not known.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from lading.pinned_images.rows import Row
from lading.ports.clock import Clock
from lading.runtime_images.report import CollectionReport

FRESH = timedelta(seconds=1)
KEPT_MAX = 100

K = TypeVar("K")
V = TypeVar("V")


class Agents(Protocol):
    async def rows(self, found: Iterable[Row]) -> list[Row]:
        """The same rows, with what the agents of nodes that are not done answer."""

    async def collection(self, node: str) -> CollectionReport | None:
        """What garbage collection would take on the node; None without an answer."""


class LiveFigures:
    def __init__(self, agents: Agents | None, clock: Clock) -> None:
        self._agents = agents
        self._clock = clock
        self._rows: dict[Row, tuple[datetime, Row]] = {}
        self._collections: dict[str, tuple[datetime, CollectionReport | None]] = {}
        self._asking = asyncio.Lock()
        self._asking_collections = asyncio.Lock()

    async def rows(self, found: Sequence[Row]) -> list[Row]:
        if self._agents is None:
            return list(found)
        async with self._asking:
            now = self._clock.now()
            self._rows = _fresh(self._rows, now)
            unknown = [row for row in found if row not in self._rows][:KEPT_MAX]
            answers = await self._agents.rows(unknown) if unknown else []
            self._rows |= {row: (now, answer) for row, answer in zip(unknown, answers, strict=True)}
        return [self._rows[row][1] if row in self._rows else row for row in found]

    async def collection(self, node: str) -> CollectionReport | None:
        if self._agents is None:
            return None
        async with self._asking_collections:
            self._collections = _fresh(self._collections, self._clock.now())
            if node not in self._collections:
                answer = await self._agents.collection(node)
                self._collections[node] = self._clock.now(), answer
            return self._collections[node][1]


def _fresh(known: dict[K, tuple[datetime, V]], now: datetime) -> dict[K, tuple[datetime, V]]:
    return {key: one for key, one in known.items() if timedelta(0) <= now - one[0] < FRESH}
