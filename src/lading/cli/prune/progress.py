"""Shows how far a run of the pruner is; only on a terminal."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lading.cli import output
from lading.cli.status_line import StatusLine
from lading.loop import tasks
from lading.pruning.engine.progress import PruneProgress

POLL_SECONDS = 0.5


@asynccontextmanager
async def shown(progress: PruneProgress) -> AsyncIterator[None]:
    """While the block runs; the line is gone before anything else is printed."""
    line = StatusLine()
    if not line.is_terminal:
        yield
        return
    try:
        async with tasks.started(_watch(progress, line)):
            yield
    finally:
        line.clear()


async def _watch(progress: PruneProgress, line: StatusLine) -> None:
    began = time.monotonic()
    while True:
        line.show(text(progress, seconds=time.monotonic() - began))
        await asyncio.sleep(POLL_SECONDS)


def text(progress: PruneProgress, *, seconds: float) -> str:
    if not progress.phase:
        return f"connecting, {seconds:.0f} s"
    if not progress.total:
        count = f" {progress.done}" if progress.done else ""
        return f"{progress.phase}{count}, {seconds:.0f} s"
    bar = output.bar(progress.done / progress.total)
    return f"{bar} {progress.phase}, {progress.done} of {progress.total}, {seconds:.0f} s"
