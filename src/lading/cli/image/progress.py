"""What can be known about a pull while it runs: how long it takes, and how the disk fills.

CRI has no progress of its own, so the growth of the image filesystem stands in for it, and what
the image's manifest says stands for the whole; other pulls at the same time are in it too. Nothing
is shown when nobody watches.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lading.cli import output
from lading.cli.status_line import StatusLine
from lading.kernel.errors import Malformed
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.loop import tasks
from lading.pinned_images.node.types import Settings
from lading.ports import platform_image
from lading.ports.cri import Cri, CriError
from lading.ports.registry import Registry, RegistryError

POLL_SECONDS = 0.5
EMBEDDED_RUNTIME = "lading"  # keeps layers as they come; others unpack them
UNPACKED_FACTOR = Settings().expansion_factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulling:
    image: Reference
    platform: Platform
    registry: Registry
    runtime: Cri


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
    before_bytes = await _used_bytes(pulling.runtime)
    line.show(f"pulling {pulling.image}")
    expected_bytes = await _expected_bytes(pulling)
    while True:
        grown_bytes = max(0, await _used_bytes(pulling.runtime) - before_bytes)
        seconds = time.monotonic() - began
        line.show(text(pulling.image, grown_bytes, expected_bytes, seconds=seconds))
        await asyncio.sleep(POLL_SECONDS)


def text(image: Reference, grown_bytes: int, expected_bytes: int | None, *, seconds: float) -> str:
    """A bar where the size is known; it is full only when the pull is over."""
    grown = output.decimal_size(grown_bytes)
    if not expected_bytes:
        return f"pulling {image}, {grown} more on disk, {seconds:.0f} s"
    bar = output.bar(min(grown_bytes / expected_bytes, 0.99))
    return f"{bar} {grown} of about {output.decimal_size(expected_bytes)}, {seconds:.0f} s, {image}"


async def _expected_bytes(pulling: Pulling) -> int | None:
    """What the image will take on disk; None when its manifest cannot be had."""
    try:
        found = await platform_image.find(pulling.registry, pulling.image, pulling.platform)
        name = (await pulling.runtime.version()).name
    except (RegistryError, Malformed, CriError):
        return None
    size_bytes = sum(blob.size_bytes for blob in found.image.blobs)
    return size_bytes if name == EMBEDDED_RUNTIME else int(size_bytes * UNPACKED_FACTOR)


async def _used_bytes(runtime: Cri) -> int:
    try:
        filesystems = await runtime.filesystems()
    except CriError:
        return 0
    return sum(usage.used_bytes for usage in filesystems.images)
