"""How commands print: plain columns for people, JSON and YAML for programs.

Names and messages come from registries, runtimes and API servers. So tables, sentences and
documents show control characters as escapes.
"""

import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import click
import msgspec
import yaml
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from lading.cli import error_messages, options, terminal
from lading.cli.options import Decorator
from lading.kernel import texts

_GAP = 3  # spaces between columns, as in crictl and kubectl
_NAMES_MAX = 5
_SHORTER = (
    (re.compile(r"@sha256:([0-9a-f]{12})[0-9a-f]{52}"), r"@\1"),
    (re.compile(r"^\d{4}-(\d\d-\d\d)T(\d\d:\d\d):\d\dZ$"), r"\1 \2"),
)
"""Twelve characters of a digest tell images apart; a time needs no year and no seconds."""
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""JSON and YAML may have these characters unescaped, but terminals interpret them."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class ListFormat(StrEnum):
    """For commands that list objects, as kubectl has it."""

    TABLE = "table"
    WIDE = "wide"
    NAME = "name"
    JSON = "json"
    YAML = "yaml"


def list_form_option(*, help: str) -> Decorator:  # noqa: A002
    return options.choice_option(
        "-o", "--output", "form", default=ListFormat.TABLE, choices=ListFormat, help=help
    )


def form_option(*, default: Format, forms: Iterable[Format] = Format) -> Decorator:
    return options.choice_option(
        "-o", "--output", "form", default=default, choices=forms, help="The output format."
    )


def document(value: Any, output: Format) -> str:
    if output is Format.YAML:
        plain = msgspec.to_builtins(value)  # YAML has no words for enumerations and tuples
        is_harmless = not _UNPRINTABLE.search(json.dumps(plain, ensure_ascii=False))
        return yaml.safe_dump(plain, sort_keys=True, allow_unicode=is_harmless)
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sentence(text: str, *, err: bool = False) -> None:
    """Prints a text that may come from a registry, a runtime or an API server."""
    click.echo(texts.bounded_text(text, keep_lines=True), err=err)


def error(found: Exception) -> None:
    """Prints an error that does not end the command."""
    sentence(f"Error: {error_messages.message(found)}", err=True)


def screen_columns() -> int | None:
    """The width of the terminal; None for a program, which reads whole lines."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    columns: int | None = None,
    is_whole: bool = False,
) -> str:
    """Columns without borders. On a terminal, or with `columns`, long cells are wrapped."""
    return aligned([headers, *rows], columns=None if is_whole else columns or screen_columns())


def aligned(rows: Iterable[Sequence[str]], *, columns: int | None) -> str:
    """Rows in columns; None for `columns` wraps nothing."""
    lines = [tuple(map(texts.bounded_text, row)) for row in rows]
    found = widths(lines)
    if columns is None or sum(found) - _GAP <= columns:
        return "".join(line(one, found) for one in lines)
    return _wrapped(lines, columns)


def widths(lines: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) + _GAP for column in zip(*lines, strict=True)]


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Each cell is cleaned: an image's label, for example, may have control characters."""
    bounded = map(texts.bounded_text, cells)
    padded = (
        cell + " " * (width - cell_len(cell)) for cell, width in zip(bounded, widths, strict=True)
    )
    return "".join(padded).rstrip() + "\n"


def _wrapped(lines: Sequence[Sequence[str]], columns: int) -> str:
    """Digests and times are shortened, then the widest columns are wrapped."""
    grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    for _ in lines[0]:
        grid.add_column(overflow="fold")
    for one in lines:
        grid.add_row(*(Text(_shorter(cell)) for cell in one))
    shown = io.StringIO()
    terminal.console(shown, columns=columns).print(grid)
    return "".join(f"{one.rstrip()}\n" for one in shown.getvalue().splitlines())


def _shorter(cell: str) -> str:
    for pattern, short in _SHORTER:
        cell = pattern.sub(short, cell)
    return cell


def names(items: Sequence[str]) -> str:
    """At most five names, then the count of the others."""
    if len(items) <= _NAMES_MAX:
        return ", ".join(items)
    return f"{', '.join(items[:_NAMES_MAX])} and {len(items) - _NAMES_MAX} more"
