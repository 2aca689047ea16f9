"""Runs the work of a command: once, within a time limit, or until a signal."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import click
import structlog

from lading.cli import options
from lading.cli.error_messages import CommandTimedOut
from lading.kernel import durations
from lading.loop import tasks
from lading.observability import logs

_SHOWN_BY_COMMANDS = "lading.pinned_images"
"""Commands print these problems themselves, so the log does not repeat them."""


def timeout_option(default: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Passes `timeout`, for `run`."""
    return click.option(
        "--timeout",
        metavar="DURATION",
        callback=options.meaning(options.positive_period),
        default=default,
        help="Stop waiting after this long, such as 10m, with exit code 124; "
        f"default: {default or 'never'}.",
    )


def run(work: Coroutine[Any, Any, None], *, timeout: timedelta | None = None) -> None:
    """Logs are warnings for a person, unless the command has configured them itself."""
    if not structlog.is_configured():
        logs.configure_for_person(silent=_SHOWN_BY_COMMANDS)
    try:
        asyncio.run(work if timeout is None else _within(timeout, work))
    except KeyboardInterrupt:
        raise click.Abort from None


async def _within(timeout: timedelta, work: Coroutine[Any, Any, None]) -> None:
    limit = asyncio.timeout(timeout.total_seconds())
    try:
        async with limit:
            await work
    except TimeoutError:
        if not limit.expired():
            raise
        shown = durations.format_duration(timeout)
        raise CommandTimedOut(f"not done after {shown}; run it again to continue waiting") from None


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Runs the work until it ends, or until Ctrl-C or SIGTERM cancels it."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with tasks.started(work) as working, tasks.started(stopped.wait()) as stopping:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            _raise_innermost(working.exception())


def _raise_innermost(error: BaseException | None) -> None:
    """Raise the innermost exception of the group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error
