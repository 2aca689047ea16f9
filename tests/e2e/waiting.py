"""Waiting for a fact, with a deadline and a sentence about what did not come true."""

import asyncio
import time
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.1
SECONDS_MAX = 90.0
"""A long limit costs nothing when a test passes, and a busy machine may need it."""
TEST_SECONDS_MAX = 300


class NeverCameTrue(AssertionError):
    pass


async def until(
    is_so: Callable[[], Awaitable[bool]],
    what: str,
    *,
    why_not: Callable[[], Awaitable[str]] | None = None,
    seconds_max: float = SECONDS_MAX,
) -> None:
    deadline = time.monotonic() + seconds_max
    while not await is_so():
        if time.monotonic() > deadline:
            explained = f"\n{await why_not()}" if why_not else ""
            raise NeverCameTrue(f"not within {seconds_max:g} s: {what}{explained}")
        await asyncio.sleep(POLL_SECONDS)
