"""Tasks that never outlive the block that started them, and deadlines on the clock port.

`asyncio.timeout` measures the event loop's own time; a `Deadline` measures the clock's, so the
same code runs in virtual time.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from lading.ports.clock import Clock

R = TypeVar("R")


@asynccontextmanager
async def started(work: Coroutine[Any, Any, R]) -> AsyncIterator[asyncio.Task[R]]:
    """Runs the work beside the block, and cancels it when the block ends."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Deadline:
    """A time limit that can be pushed out while the work runs."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._at = clock.monotonic() + seconds

    def restart(self, *, since: float | None = None) -> None:
        """Counts again from now, or from the (monotonic) moment that is given."""
        self._at = (self._clock.monotonic() if since is None else since) + self._seconds

    def has_passed(self) -> bool:
        return self._clock.monotonic() >= self._at

    async def guard(self, work: Coroutine[Any, Any, R]) -> R:
        """Runs the work; cancels it and raises TimeoutError when the deadline passes."""
        async with started(work) as task:
            while not task.done():
                remaining = self._at - self._clock.monotonic()
                if remaining <= 0:
                    raise TimeoutError(f"no answer within {self._seconds:g} seconds")
                async with started(self._clock.sleep(remaining)) as alarm:
                    await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
            return task.result()


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, R]) -> R:
    """Runs the work under a fixed time limit of the clock."""
    return await Deadline(clock, seconds).guard(work)
