"""Many changes that come close together are told once, a moment after the first of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lading.ports.clock import Clock


class _Debounce:
    def __init__(self, clock: Clock, seconds: float, told: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._told = told
        self._waiting: asyncio.Task[None] | None = None

    def changed(self) -> None:
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._tell_soon())

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)

    async def _tell_soon(self) -> None:
        await self._clock.sleep(self._seconds)
        self._waiting = None
        self._told()


@asynccontextmanager
async def debounced(
    clock: Clock, seconds: float, told: Callable[[], None]
) -> AsyncIterator[Callable[[], None]]:
    """What to call at each change; after the block nothing is told any more."""
    made = _Debounce(clock, seconds, told)
    try:
        yield made.changed
    finally:
        await made.close()
