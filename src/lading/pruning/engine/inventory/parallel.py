"""Runs the same function for many names, with a few workers.

One task for each of a million names would need a gigabyte.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

READS_MAX = 32
"""Requests to a storage at a time."""

T = TypeVar("T")


async def each(
    work: Callable[[str], Awaitable[None]], names: Iterable[str], *, workers: int = READS_MAX
) -> None:
    waiting = iter(names)

    async def worker() -> None:
        for name in waiting:
            await work(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(worker())


async def results(
    work: Callable[[str], Awaitable[T]], names: Sequence[str], *, workers: int
) -> list[T]:
    """Returns the results in the order of the names."""
    found: dict[str, T] = {}

    async def keep(name: str) -> None:
        found[name] = await work(name)

    await each(keep, names, workers=workers)
    return [found[name] for name in names]
