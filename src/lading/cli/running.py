"""Runs the work of a command: its logs are set up, and Ctrl-C ends it without a trace."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import click
import structlog

from lading.observability import logs


def run(work: Coroutine[Any, Any, None]) -> None:
    """A command shows only warnings, unless it has set up its logs itself."""
    if not structlog.is_configured():
        logs.configure(logs.LogFormat.CONSOLE, "warning")
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise click.Abort from None
