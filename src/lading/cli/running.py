"""Runs the work of a command: its warnings are sentences, and Ctrl-C ends it without a trace.

A command that waits has the option --timeout, which ends it with an exit code of its own.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import click
import structlog

from lading.cli import options
from lading.kernel import durations
from lading.kernel.errors import Malformed
from lading.observability import logs

TIMED_OUT = 124  # as timeout(1)
_SHOWN_BY_COMMANDS = "lading.pinned_images"
"""An image that is not resolved or pulled is a row or a sentence of the command."""


class TimedOut(click.ClickException):
    exit_code = TIMED_OUT


def timeout_option(default: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Hands over `timeout`, for `run`."""
    return click.option(
        "--timeout",
        callback=options.meaning(_limit),
        default=default,
        help="Stop waiting after this long, such as 10m, with exit code 124; "
        f"default: {default or 'never'}.",
    )


def run(work: Coroutine[Any, Any, None], *, timeout: timedelta | None = None) -> None:
    """Logs are warnings for a person, unless the command has set them up itself."""
    if not structlog.is_configured():
        logs.configure_for_person(silent=_SHOWN_BY_COMMANDS)
    try:
        asyncio.run(work if timeout is None else _within(timeout, work))
    except KeyboardInterrupt:
        raise click.Abort from None


def _limit(text: str) -> timedelta:
    found = durations.parse(text)
    if found <= timedelta(0):
        raise Malformed(what="timeout", text=text, reason="expected more than 0")
    return found


async def _within(timeout: timedelta, work: Coroutine[Any, Any, None]) -> None:
    limit = asyncio.timeout(timeout.total_seconds())
    try:
        async with limit:
            await work
    except TimeoutError:
        if not limit.expired():
            raise
        shown = durations.format_duration(timeout)
        raise TimedOut(f"not done after {shown}; run it again to go on waiting") from None
