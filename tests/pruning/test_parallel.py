"""A few workers share many names."""

import asyncio

import pytest

from lading.pruning.engine.inventory import parallel


async def test_results_are_in_the_order_of_the_names() -> None:
    async def work(name: str) -> str:
        await asyncio.sleep(0.001 * (5 - int(name)))
        return f"done {name}"

    assert await parallel.results(work, ["1", "2", "3"], workers=3) == [
        "done 1",
        "done 2",
        "done 3",
    ]


async def test_no_more_workers_than_allowed_are_busy() -> None:
    busy: list[int] = [0]

    async def work(name: str) -> None:
        busy.append(busy[-1] + 1)
        await asyncio.sleep(0)
        busy.append(busy[-1] - 1)

    await parallel.each(work, map(str, range(20)), workers=4)
    assert max(busy) == 4


async def test_the_first_failure_ends_all() -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        if name == "bad":
            raise OSError("no")
        done.append(name)
        await asyncio.sleep(0)

    with pytest.raises(ExceptionGroup):
        await parallel.each(work, ["bad", *map(str, range(100))], workers=2)
    assert len(done) < 100
