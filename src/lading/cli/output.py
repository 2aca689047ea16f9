"""How commands print: plain columns for people, JSON and YAML for programs."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import click
import msgspec

from lading.cli import options
from lading.cli.options import Decorator
from lading.kernel import texts

_GAP = 3  # spaces between columns, as in crictl and kubectl
_BAR_CELLS = 12
_NAMES_MAX = 5
_CUT = "..."
_CELL_CHARACTERS_MIN = 12
_SHORTER = (
    (re.compile(r"@sha256:([0-9a-f]{12})[0-9a-f]{52}"), r"@\1"),
    (re.compile(r"^\d{4}-(\d\d-\d\d)T(\d\d:\d\d):\d\dZ$"), r"\1 \2"),
)
"""Twelve characters of a digest tell images apart; a time needs no year and no seconds."""
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON and YAML may hold as it is, and a terminal obeys."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def form_option(*, default: Format, forms: Iterable[Format] = Format) -> Decorator:
    return options.choice_option(
        "-o", "--output", "form", default=default, choices=forms, help="The output format."
    )


def document(value: Any, output: Format) -> str:
    import json  # slow to load, and most answers are tables

    if output is Format.YAML:
        import yaml

        plain = msgspec.to_builtins(value)  # YAML has no words for enumerations and tuples
        is_harmless = not _UNPRINTABLE.search(json.dumps(plain, ensure_ascii=False))
        return yaml.safe_dump(plain, sort_keys=True, allow_unicode=is_harmless)
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sentence(text: str, *, err: bool = False) -> None:
    """Prints what may hold words of strangers: a registry, a runtime, an API server."""
    click.echo(texts.bounded_text(text, keep_lines=True), err=err)


def error(found: Exception) -> None:
    """Prints one that does not end the command, as `main` prints one that does."""
    from lading.cli import (
        sentences,
    )  # it knows the errors of all parts, and most commands have none

    sentence(f"Error: {sentences.sentence(found)}", err=True)


def screen_columns() -> int | None:
    """The width of the terminal, or of COLUMNS; a program that reads the output gets it whole."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    columns: int | None = None,
    is_whole: bool = False,
) -> str:
    """As wide as `columns`, else as the screen; long cells are cut in their middle for that."""
    limit = None if is_whole else columns or screen_columns()
    lines = fitted(headers, rows, limit)
    found = widths(lines)
    return "".join(line(one, found) for one in lines)


def widths(lines: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) + _GAP for column in zip(*lines, strict=True)]


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A cell may hold what a stranger wrote, such as a label of an image: it cannot leave it."""
    bounded = map(texts.bounded_text, cells)
    padded = (cell.ljust(width) for cell, width in zip(bounded, widths, strict=True))
    return "".join(padded).rstrip() + "\n"


def fitted(
    headers: Sequence[str], rows: Iterable[Sequence[str]], columns: int | None
) -> list[tuple[str, ...]]:
    """All lines; where one does not fit, digests and times are shortened, then wide columns cut."""
    lines = [tuple(headers), *(tuple(map(texts.bounded_text, row)) for row in rows)]
    if columns is None:
        return lines
    if _width(lines) > columns:
        lines = [tuple(map(_shorter, one)) for one in lines]
    found = [max(map(len, column)) for column in zip(*lines, strict=True)]
    readable = [max(_CELL_CHARACTERS_MIN, len(header)) for header in headers]
    for smallest in (readable, [len(_CUT) + 1] * len(headers)):
        while sum(found) + _GAP * (len(found) - 1) > columns:
            spare = [index for index, width in enumerate(found) if width > smallest[index]]
            if not spare:
                break
            found[max(spare, key=lambda index: found[index])] -= 1
    return [tuple(map(_cut, one, found)) for one in lines]


def _shorter(cell: str) -> str:
    for pattern, short in _SHORTER:
        cell = pattern.sub(short, cell)
    return cell


def _width(lines: Sequence[Sequence[str]]) -> int:
    return sum(widths(lines)) - _GAP


def _cut(cell: str, width: int) -> str:
    """Both ends tell names apart: of machines mostly the beginning, of images mostly the end.

    Of a sentence only the beginning says something.
    """
    if len(cell) <= width:
        return cell
    kept = width - len(_CUT)
    if " " in cell:
        return f"{cell[:kept].rstrip()}{_CUT}"
    _, slash, last = cell.rpartition("/")
    end = kept * 2 // 3 if slash else kept // 3
    if slash and len(last) < kept:
        end = max(end, len(last))
    return f"{cell[: kept - end]}{_CUT}{cell[len(cell) - end :]}"


def names(items: Sequence[str]) -> str:
    """All of a few names, else their beginning and a count."""
    if len(items) <= _NAMES_MAX:
        return ", ".join(items)
    return f"{', '.join(items[:_NAMES_MAX])} and {len(items) - _NAMES_MAX} more"


def bar(fraction: float) -> str:
    """`[####........]`, for a fraction from 0 to 1."""
    filled = round(fraction * _BAR_CELLS)
    return f"[{'#' * filled}{'.' * (_BAR_CELLS - filled)}]"
