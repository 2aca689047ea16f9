"""Changes that come close together cause one notification, a moment after the first of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lading.ports.clock import Clock


class _Debounce:
    def __init__(self, clock: Clock, seconds: float, notify: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._notify = notify
        self._waiting: asyncio.Task[None] | None = None

    def changed(self) -> None:
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._notify_soon())

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)

    async def _notify_soon(self) -> None:
        await self._clock.sleep(self._seconds)
        self._waiting = None
        self._notify()


@asynccontextmanager
async def debounced(
    clock: Clock, seconds: float, notify: Callable[[], None]
) -> AsyncIterator[Callable[[], None]]:
    """What to call at each change; after the block nothing is notified any more."""
    made = _Debounce(clock, seconds, notify)
    try:
        yield made.changed
    finally:
        await made.close()
