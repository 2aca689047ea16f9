"""Waits until a runtime says itself that images are pinned; runtimes take their time to notice."""

from collections.abc import Collection

from lading.ports.clock import Clock
from lading.ports.cri import Cri, Pin

READ_BACK_SECONDS_MAX = 10.0
READ_BACK_INTERVAL_SECONDS = 0.05


async def pinned_ids(runtime: Cri) -> set[str]:
    return {image.id for image in await runtime.images() if image.pinned}


async def in_force(runtime: Cri, pins: Collection[Pin], *, released: Collection[str] = ()) -> bool:
    """The pins are in force, and images with the IDs of `released` are no longer pinned."""
    pinned = await pinned_ids(runtime)
    return {pin.image_id for pin in pins} <= pinned and pinned.isdisjoint(released)


async def wait_until_in_force(
    runtime: Cri,
    pins: Collection[Pin],
    clock: Clock,
    *,
    released: Collection[str] = (),
    seconds_max: float = READ_BACK_SECONDS_MAX,
) -> None:
    """Gives up quietly: what is not in force by then is reported by `Pins.recorded`."""
    deadline = clock.monotonic() + seconds_max
    while not await in_force(runtime, pins, released=released) and clock.monotonic() < deadline:
        await clock.sleep(READ_BACK_INTERVAL_SECONDS)
