"""What can be known about a pull while it runs: how long it takes, and how the disk fills.

CRI has no progress of its own, so the growth of the image filesystem stands in for it; other
pulls at the same time are in it too. Nothing is shown when nobody watches.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.cli import output
from lading.cli.status_line import StatusLine
from lading.loop import tasks
from lading.ports.cri import Cri, CriError

POLL_SECONDS = 0.5


@asynccontextmanager
async def shown(runtime: Cri, image: str) -> AsyncIterator[None]:
    line = StatusLine()
    if not line.is_terminal:
        yield
        return
    try:
        async with tasks.started(_watch(runtime, image, line)):
            yield
    finally:
        line.clear()


async def _watch(runtime: Cri, image: str, line: StatusLine) -> None:
    began = time.monotonic()
    before_bytes = await _used_bytes(runtime)
    while True:
        grown_bytes = max(0, await _used_bytes(runtime) - before_bytes)
        size = f", {output.decimal_size(grown_bytes)} more on disk" if grown_bytes else ""
        line.show(f"pulling {image}{size}, {time.monotonic() - began:.0f} s")
        await asyncio.sleep(POLL_SECONDS)


async def _used_bytes(runtime: Cri) -> int:
    try:
        filesystems = await runtime.filesystems()
    except CriError:
        return 0
    return sum(usage.used_bytes for usage in filesystems.images)
