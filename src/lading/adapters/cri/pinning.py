"""What both pin drivers need: which releases can pin, and whether the runtime reports the pins."""

import re
from collections.abc import Collection, Mapping

from lading.ports.clock import Clock
from lading.ports.cri import CannotPin, Cri, Pin, RuntimeVersion

Release = tuple[int, int, int]

_RELEASE = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")


def parse(text: str) -> Release | None:
    """The first three numbers of `v2.3.0-rc.1` or `1.6.20~ds1`; None when there are none."""
    match = _RELEASE.match(text)
    if match is None:
        return None
    major, minor, patch = match.groups(default="0")
    return int(major), int(minor), int(patch)


def too_old(
    version: RuntimeVersion, *, patch_by_line: Mapping[tuple[int, int], int], reason: str
) -> CannotPin | None:
    """Old release lines got pinning in a patch; every line after the newest listed has it."""
    release = parse(version.version)
    if release is None:
        return CannotPin(f"{version.name} reports the version {version.version!r}, not a release")
    line = release[:2]
    newest = max(patch_by_line)
    if line > newest or release[2] >= patch_by_line.get(line, _NEVER):
        return None
    since = " or ".join(f"{a}.{b}.{patch}" for (a, b), patch in sorted(patch_by_line.items()))
    return CannotPin(
        f"{version.name} {version.version} cannot pin images: {reason}. Upgrade it to at least"
        f" {since}, or to any release after {newest[0]}.{newest[1]}. Until then, the kubelet may"
        " remove the images"
    )


_NEVER = 10**9


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
