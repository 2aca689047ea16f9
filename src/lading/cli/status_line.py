"""One line on standard error that says how far things are, replaced whenever it changes.

Where standard error is no terminal, or one that can erase nothing, each change is a line of its
own, for readers of the log.
"""

import os
import shutil
import sys

import click

from lading.kernel import texts

_ERASE = "\r\x1b[K"


class StatusLine:
    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = ""

    def show(self, text: str) -> None:
        text = texts.bounded_text(text)
        if text == self._shown:
            return
        self._shown = text
        width = shutil.get_terminal_size().columns
        line = f"{_ERASE}{text[: width - 1]}" if self.is_terminal else f"{text}\n"
        click.echo(line, nl=False, err=True)

    def clear(self) -> None:
        if self.is_terminal and self._shown:
            click.echo(_ERASE, nl=False, err=True)
