"""Runs the work of a command: its warnings are sentences, and Ctrl-C ends it without a trace.

A command that waits has the option --timeout, which ends it with an exit code of its own.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import click

from lading.cli import options
from lading.cli.exit_codes import CommandTimedOut
from lading.kernel import durations

_SHOWN_BY_COMMANDS = "lading.pinned_images"
"""An image that is not resolved or pulled is a row or a sentence of the command."""


def timeout_option(default: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Hands over `timeout`, for `run`."""
    return click.option(
        "--timeout",
        metavar="DURATION",
        callback=options.meaning(options.positive_period),
        default=default,
        help="Stop waiting after this long, such as 10m, with exit code 124; "
        f"default: {default or 'never'}.",
    )


def run(
    work: Coroutine[Any, Any, None], *, timeout: timedelta | None = None, may_log: bool = True
) -> None:
    """Logs are warnings for a person, unless the command has set them up itself.

    A command that only reads, and so uses nothing that logs, starts sooner without them.
    """
    if may_log:
        _set_up_logs()
    try:
        asyncio.run(work if timeout is None else _within(timeout, work))
    except KeyboardInterrupt:
        raise click.Abort from None


def _set_up_logs() -> None:
    import structlog

    from lading.observability import logs

    if not structlog.is_configured():
        logs.configure_for_person(silent=_SHOWN_BY_COMMANDS)


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
