"""Text on standard output that is drawn again in place whenever it changes.

Where standard output is no terminal, each change is printed whole, for readers of the log.
"""

import os
import shutil
import sys

import click


class Screen:
    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = ""
        self._line_count = 0

    def show(self, text: str) -> None:
        if text == self._shown:
            return
        self._shown = text
        if not self._is_terminal:
            click.echo(text, nl=False)
            return
        size = shutil.get_terminal_size()
        lines = fitted_lines(text, columns=size.columns, lines=size.lines)
        back = f"\x1b[{self._line_count}F" if self._line_count else ""
        click.echo(f"{back}\x1b[J" + "".join(f"{line}\n" for line in lines), nl=False)
        self._line_count = len(lines)


def fitted_lines(text: str, *, columns: int, lines: int) -> list[str]:
    """What a terminal can show without scrolling, because what has scrolled cannot be redrawn."""
    whole = [line[: columns - 1] for line in text.splitlines()]
    room = max(1, lines - 1)
    if len(whole) <= room:
        return whole
    return [*whole[: room - 1], f"... and {len(whole) - room + 1} more lines"[: columns - 1]]
