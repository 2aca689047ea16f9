"""What can be known about a pull while it runs: how long it takes, and how the disk fills.

CRI has no progress of its own, so the growth of the image filesystem stands in for it; other
pulls at the same time are in it too. Nothing is shown when nobody watches.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.cli import output
from lading.loop import tasks
from lading.ports.cri import Cri, CriError

POLL_SECONDS = 0.5


@asynccontextmanager
async def shown(runtime: Cri, image: str) -> AsyncIterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    async with tasks.started(_watch(runtime, image)):
        yield


async def _watch(runtime: Cri, image: str) -> None:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"pulling {image}", total=None)
        before_bytes = await _used_bytes(runtime)
        while True:
            await asyncio.sleep(POLL_SECONDS)
            grown_bytes = await _used_bytes(runtime) - before_bytes
            if grown_bytes > 0:
                size = output.decimal_size(grown_bytes)
                progress.update(task, description=f"pulling {image}, {size} more on disk")


async def _used_bytes(runtime: Cri) -> int:
    try:
        filesystems = await runtime.filesystems()
    except CriError:
        return 0
    return sum(usage.used_bytes for usage in filesystems.images)
