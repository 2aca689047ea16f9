"""Virtual time and the deadlines that are measured on it."""

import asyncio

import pytest

from lading.adapters import clock as clocks
from lading.adapters.clock import SystemClock, VirtualClock
from lading.loop import tasks


async def test_sleepers_wake_in_the_order_of_their_deadlines(clock: VirtualClock) -> None:
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("a", 3, 3))
        group.create_task(sleeper("b", 1, 1, 1))
        await clock.advance(10)
    assert woken == [("b", 1), ("b", 2), ("a", 3), ("b", 3), ("a", 6)]


async def test_time_stands_still_until_it_is_advanced(clock: VirtualClock) -> None:
    before = clock.now()
    await clock.advance(90)
    assert (clock.now() - before).total_seconds() == clock.monotonic() == 90


async def test_a_loop_that_never_settles_is_reported(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "SETTLE_ROUNDS_MAX", 100)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the very fault
            await asyncio.sleep(0)

    async with tasks.started(spin()):
        with pytest.raises(clocks.NeverSettles):
            await clock.advance(1)


async def test_the_system_clock_sleeps_and_grows() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0.01)
    assert clock.monotonic() >= before + 0.01
    assert clock.now().utcoffset() is not None


async def test_a_deadline_cancels_the_work_and_waits_for_its_end(clock: VirtualClock) -> None:
    ended = False

    async def work() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            ended = True

    guarded = asyncio.create_task(tasks.within(clock, 5, work()))
    await clock.advance(4.9)
    assert not guarded.done()
    await clock.advance(0.1)
    with pytest.raises(TimeoutError, match="5 seconds"):
        await guarded
    assert ended


async def test_a_deadline_that_is_pushed_out_does_not_strike(clock: VirtualClock) -> None:
    deadline = tasks.Deadline(clock, 5)

    async def work() -> str:
        for _ in range(10):
            await clock.sleep(4)
            deadline.restart()
        return "done"

    guarded = asyncio.create_task(deadline.guard(work()))
    await clock.advance(60)
    assert await guarded == "done"


async def test_an_error_of_the_work_comes_through_a_deadline(clock: VirtualClock) -> None:
    async def work() -> None:
        raise KeyError("the work's own")

    with pytest.raises(KeyError, match="the work's own"):
        await tasks.within(clock, 5, work())
