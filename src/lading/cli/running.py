"""Runs the work of a command: its warnings are sentences, and Ctrl-C ends it without a trace."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import click
import structlog

from lading.observability import logs

_SHOWN_BY_COMMANDS = "lading.pinned_images"
"""An image that is not resolved or pulled is a row or a sentence of the command."""


def run(work: Coroutine[Any, Any, None]) -> None:
    """Unless the command has set up its logs itself."""
    if not structlog.is_configured():
        logs.configure_for_person(silent=_SHOWN_BY_COMMANDS)
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise click.Abort from None
