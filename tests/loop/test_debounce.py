"""Many changes cause one notification, soon, and none after the end."""

from lading.adapters.clock import VirtualClock
from lading.loop.debounce import debounced


async def test_changes_that_come_close_together_are_notified_once(clock: VirtualClock) -> None:
    notified: list[float] = []
    async with debounced(clock, 1.0, lambda: notified.append(clock.monotonic())) as changed:
        changed()
        await clock.advance(0.5)
        changed()
        await clock.advance(0.5)
        assert notified == [1.0]
        await clock.advance(10)
        assert notified == [1.0]


async def test_a_change_after_the_notification_is_notified_too(clock: VirtualClock) -> None:
    notified: list[float] = []
    async with debounced(clock, 1.0, lambda: notified.append(clock.monotonic())) as changed:
        changed()
        await clock.advance(1)
        changed()
        await clock.advance(1)
    assert notified == [1.0, 2.0]


async def test_nothing_is_notified_after_the_end(clock: VirtualClock) -> None:
    notified: list[float] = []
    async with debounced(clock, 1.0, lambda: notified.append(clock.monotonic())) as changed:
        changed()
    await clock.advance(10)
    assert notified == []
