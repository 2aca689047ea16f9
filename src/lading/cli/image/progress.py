"""What can be known about a pull while it runs: how long it takes, and how the disk fills.

CRI has no progress of its own, so the growth of the images' disk stands in for it, and what the
image's manifest says stands for the whole; whatever else is written there at the same time is in
it too. Nothing is shown where standard error is no terminal.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from lading.cli import output
from lading.cli.status_line import StatusLine
from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.kernel.images import Resolution
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.loop import tasks
from lading.pinned_images.node.types import PinSettings
from lading.ports import platform_image
from lading.ports.cri import Cri, CriError
from lading.ports.disk import Disk
from lading.ports.registry import Registry, RegistryError

POLL_SECONDS = 0.5
EMBEDDED_RUNTIME = "lading"  # keeps layers as they come; others unpack them
UNPACKED_FACTOR = PinSettings().expansion_factor
SHARE_SHOWN_MAX = 0.95  # a full bar would mean that the pull is over


class Pulling(msgspec.Struct, frozen=True, kw_only=True):
    image: Reference
    platform: Platform
    for_guest: bool
    registry: Registry
    runtime: Cri
    disk: Disk

    async def resolve(self) -> Resolution:
        return await platform_image.resolve(
            self.registry, self.image, self.platform, for_guest=self.for_guest
        )


@asynccontextmanager
async def shown(pulling: Pulling) -> AsyncIterator[None]:
    line = StatusLine()
    if not line.is_terminal:
        yield
        return
    try:
        async with tasks.started(_watch(pulling, line)):
            yield
    finally:
        line.clear()


async def _watch(pulling: Pulling, line: StatusLine) -> None:
    began = time.monotonic()
    line.show(f"pulling {pulling.image}")
    is_embedded = await _is_embedded(pulling.runtime)
    before_bytes = await occupied_bytes(pulling, is_embedded=is_embedded)
    expected_bytes = await _expected_bytes(pulling, is_embedded=is_embedded)
    while True:
        now_bytes = await occupied_bytes(pulling, is_embedded=is_embedded)
        grown_bytes = max(0, now_bytes - before_bytes)
        seconds = time.monotonic() - began
        line.show(text(pulling.image, grown_bytes, expected_bytes, seconds=seconds))
        await asyncio.sleep(POLL_SECONDS)


def text(image: Reference, grown_bytes: int, expected_bytes: int | None, *, seconds: float) -> str:
    """A bar where the size is known; it is full only when the pull is over."""
    grown = quantities.format_bytes(grown_bytes)
    if not expected_bytes:
        return f"pulling {image}, {grown} more on disk, {seconds:.0f} s"
    bar = output.bar(min(grown_bytes / expected_bytes, SHARE_SHOWN_MAX))
    expected = quantities.format_bytes(expected_bytes)
    return f"{bar} {grown} of about {expected}, {seconds:.0f} s, {image}"


async def _is_embedded(runtime: Cri) -> bool:
    try:
        return (await runtime.version()).name == EMBEDDED_RUNTIME
    except CriError:
        return False


async def _expected_bytes(pulling: Pulling, *, is_embedded: bool) -> int | None:
    """What the image will take on disk; None when its manifest cannot be had."""
    try:
        found = await pulling.resolve()
    except (RegistryError, Malformed):
        return None
    return found.size_bytes if is_embedded else int(found.size_bytes * UNPACKED_FACTOR)


async def occupied_bytes(pulling: Pulling, *, is_embedded: bool) -> int:
    """What is in use on the images' disk.

    containerd counts every ten seconds and CRI-O leaves the layers out; so the disk is asked.
    """
    try:
        usages = (await pulling.runtime.filesystems()).images
    except CriError:
        return 0
    spaces = {await pulling.disk.space(usage.mountpoint) for usage in usages}
    if is_embedded or None in spaces:
        return sum(usage.used_bytes for usage in usages)
    return sum(space.capacity_bytes - space.available_bytes for space in spaces if space)
