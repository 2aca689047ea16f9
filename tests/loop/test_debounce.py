"""Many changes are told once, soon, and never after the end."""

from lading.adapters.clock import VirtualClock
from lading.loop.debounce import debounced


async def test_changes_that_come_close_together_are_told_once(clock: VirtualClock) -> None:
    told: list[float] = []
    async with debounced(clock, 1.0, lambda: told.append(clock.monotonic())) as changed:
        changed()
        await clock.advance(0.5)
        changed()
        await clock.advance(0.5)
        assert told == [1.0]
        await clock.advance(10)
        assert told == [1.0]


async def test_a_change_after_the_telling_is_told_too(clock: VirtualClock) -> None:
    told: list[float] = []
    async with debounced(clock, 1.0, lambda: told.append(clock.monotonic())) as changed:
        changed()
        await clock.advance(1)
        changed()
        await clock.advance(1)
    assert told == [1.0, 2.0]


async def test_nothing_is_told_after_the_end(clock: VirtualClock) -> None:
    told: list[float] = []
    async with debounced(clock, 1.0, lambda: told.append(clock.monotonic())) as changed:
        changed()
    await clock.advance(10)
    assert told == []
