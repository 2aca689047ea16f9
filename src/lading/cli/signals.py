"""A long run: until a signal ends it."""

import asyncio
import gc
import signal
from collections.abc import Coroutine
from typing import Any

from lading.loop import tasks

_GC_THRESHOLD = 700
"""As of Python 3.11, in place of the one for a quick start: a long run makes garbage."""


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Runs the work until it ends, or until Ctrl-C or a termination cancels it."""
    gc.set_threshold(_GC_THRESHOLD)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with tasks.started(work) as working, tasks.started(stopped.wait()) as stopping:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            _raise_the_first(working)


def _raise_the_first(work: asyncio.Task[None]) -> None:
    """One error says more than the groups it came in."""
    error = work.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error
