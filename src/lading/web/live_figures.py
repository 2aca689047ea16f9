"""What agents answer about cells that are open, asked once for all pages that show the same.

Agents are asked through the API server with the user's rights; without an answer the figures are
those of the status.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from lading.pinned_images.rows import Row
from lading.ports.clock import Clock

FRESH = timedelta(seconds=1)
KEPT_MAX = 100


class LiveRows(Protocol):
    async def rows(self, found: Iterable[Row]) -> list[Row]:
        """The same rows, with what the agents of nodes that are not done answer."""


class LiveFigures:
    def __init__(self, agents: LiveRows | None, clock: Clock) -> None:
        self._agents = agents
        self._clock = clock
        self._known: dict[Row, tuple[datetime, Row]] = {}
        self._asking = asyncio.Lock()

    async def rows(self, found: Sequence[Row]) -> list[Row]:
        if self._agents is None:
            return list(found)
        async with self._asking:
            now = self._clock.now()
            self._known = {
                row: one for row, one in self._known.items() if timedelta(0) <= now - one[0] < FRESH
            }
            unknown = [row for row in found if row not in self._known][:KEPT_MAX]
            answers = await self._agents.rows(unknown) if unknown else []
            self._known |= {
                row: (now, answer) for row, answer in zip(unknown, answers, strict=True)
            }
        return [self._known[row][1] if row in self._known else row for row in found]
