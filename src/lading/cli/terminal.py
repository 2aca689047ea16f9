"""A table that is redrawn, or a line of progress, while a command works.

Both need a terminal. Elsewhere (a pipe, a log, TERM=dumb) the same text is printed as plain lines,
without escape codes.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TextIO

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from lading.kernel import texts
from lading.loop import tasks

POLL_SECONDS = 0.5
PLAIN_LINE_SECONDS = 10.0
"""A log needs to show that the command works, not each step of it."""


def console(stream: TextIO, *, columns: int | None = None) -> Console:
    """Texts are shown as they are: image names and error messages may have `[` and `:` in them.

    FORCE_COLOR and similar variables have no effect, so a pipe gets the same bytes everywhere.
    """
    return Console(
        file=stream,
        width=columns,
        force_terminal=stream.isatty(),
        markup=False,
        emoji=False,
        highlight=False,
    )


def _can_redraw(screen: Console) -> bool:
    return screen.is_terminal and not screen.is_dumb_terminal


class Screen(AbstractContextManager["Screen"]):
    """Text on standard output that replaces itself; elsewhere each change is printed whole."""

    def __init__(self, *, redraw: bool = True) -> None:
        screen = console(sys.stdout)
        is_live = redraw and _can_redraw(screen)
        self._live = Live(console=screen, auto_refresh=False) if is_live else None
        self._shown = ""

    def __enter__(self) -> "Screen":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, text: str) -> None:
        if text == self._shown:
            return
        self._shown = text
        if self._live:
            self._live.update(Text(text.rstrip("\n")), refresh=True)
        else:
            click.echo(text, nl=False)


class Step(msgspec.Struct, frozen=True):
    """How far a command is. The bar needs a total."""

    text: str
    done: int = 0
    total: int = 0


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """A line with a bar on standard error, gone at the end; elsewhere a plain line now and then."""

    def __init__(self, *, quiet_seconds: float = 0) -> None:
        """Without a terminal, nothing is printed in the first `quiet_seconds`."""
        screen = console(sys.stderr)
        self._bar = _bar(screen) if _can_redraw(screen) else None
        self._task = self._bar.add_task("", total=None) if self._bar else None
        self._next_line_at = time.monotonic() + quiet_seconds
        self._shown = ""

    @property
    def is_live(self) -> bool:
        return self._bar is not None

    def __enter__(self) -> "ProgressLine":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, text: str, *, done: int = 0, total: int = 0) -> None:
        text = texts.bounded_text(text)
        if self._bar and self._task is not None:
            self._bar.update(self._task, description=text, completed=done, total=total or None)
        elif text != self._shown and time.monotonic() >= self._next_line_at:
            self._shown = text
            self._next_line_at = time.monotonic() + PLAIN_LINE_SECONDS
            click.echo(text, err=True)


def _bar(screen: Console) -> Progress:
    return Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
    )


@asynccontextmanager
async def progress(steps: AsyncIterable[Step]) -> AsyncIterator[None]:
    """Shows how far the work of the block is. A short command prints no plain lines."""
    with ProgressLine(quiet_seconds=PLAIN_LINE_SECONDS) as line:
        async with tasks.started(_show(steps, line)):
            yield


async def _show(steps: AsyncIterable[Step], line: ProgressLine) -> None:
    async for step in steps:
        line.show(step.text, done=step.done, total=step.total)
        await asyncio.sleep(POLL_SECONDS if line.is_live else PLAIN_LINE_SECONDS)
