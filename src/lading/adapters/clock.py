"""Two clocks: the machine's, and a virtual one that tests advance.

The virtual clock makes tests deterministic: sleepers wake in the order of their deadlines, and all
tasks come to rest before time moves again.
"""

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta

SETTLE_ROUNDS_MAX = 100_000  # far above any chain of wake-ups that ends


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class NeverSettles(AssertionError):
    """Some task keeps the event loop busy without ever sleeping on the clock."""


class VirtualClock:
    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed_seconds = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_seconds)

    def monotonic(self) -> float:
        return self._elapsed_seconds

    async def sleep(self, seconds: float) -> None:
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        deadline = self._elapsed_seconds + max(seconds, 0.0)
        heapq.heappush(self._sleepers, (deadline, next(self._order), wake))
        await wake

    async def advance(self, seconds: float) -> None:
        """Moves time on, waking the sleepers on the way, one by one and in order."""
        await settle()
        end = self._elapsed_seconds + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            deadline, _, wake = heapq.heappop(self._sleepers)
            if wake.done():
                continue
            self._elapsed_seconds = deadline
            wake.set_result(None)
            await settle()
        self._elapsed_seconds = end


async def settle() -> None:
    """Returns when no other task of this event loop has anything left to do right now."""
    # Only the loop itself knows that nothing else is scheduled, and it has no public word for it.
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # noqa: SLF001
    for _ in range(SETTLE_ROUNDS_MAX):
        await asyncio.sleep(0)
        if not ready:
            return
    raise NeverSettles(f"tasks were still running after {SETTLE_ROUNDS_MAX} rounds")
