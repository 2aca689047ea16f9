"""How commands print: plain columns for people, JSON and YAML for programs."""

import json
import re
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
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON and YAML may hold as it is, and a terminal obeys."""
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def form_option(*, default: Format, forms: Iterable[Format] = Format) -> Decorator:
    return options.choice_option(
        "-o", "--output", "form", default=default, choices=forms, help="The output format."
    )


def document(value: Any, output: Format) -> str:
    if output is Format.YAML:
        import yaml  # slow to load, and most answers are tables

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


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [tuple(headers), *map(tuple, rows)]
    found = widths(headers, lines[1:])
    return "".join(line(one, found) for one in lines)


def widths(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[int]:
    columns = zip(headers, *(map(texts.bounded_text, row) for row in rows), strict=True)
    return [max(map(len, column)) + _GAP for column in columns]


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A cell may hold what a stranger wrote, such as a label of an image: it cannot leave it."""
    bounded = map(texts.bounded_text, cells)
    padded = (cell.ljust(width) for cell, width in zip(bounded, widths, strict=True))
    return "".join(padded).rstrip() + "\n"


def fitted(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int,
    shortened: Sequence[int],
) -> list[tuple[str, ...]]:
    """The rows with the `shortened` columns cut as far as the table needs it to fit."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    too_wide = sum(widths) + _GAP * (len(widths) - 1) - columns
    for _ in range(max(0, too_wide)):
        widest = max(shortened, key=lambda index: widths[index])
        widths[widest] = max(_CELL_CHARACTERS_MIN, widths[widest] - 1)
    return [
        tuple(
            _cut(cell, widths[index]) if index in shortened else cell
            for index, cell in enumerate(row)
        )
        for row in rows
    ]


def _cut(cell: str, width: int) -> str:
    """Both ends of names of machines tell them apart; the beginning does more."""
    if len(cell) <= width:
        return cell
    end = (width - len(_CUT)) // 3
    return f"{cell[: width - len(_CUT) - end]}{_CUT}{cell[len(cell) - end :]}"


def names(items: Sequence[str]) -> str:
    """All of a few names, else their beginning and a count."""
    if len(items) <= _NAMES_MAX:
        return ", ".join(items)
    return f"{', '.join(items[:_NAMES_MAX])} and {len(items) - _NAMES_MAX} more"


def bar(fraction: float) -> str:
    """`[####........]`, for a fraction from 0 to 1."""
    filled = round(fraction * _BAR_CELLS)
    return f"[{'#' * filled}{'.' * (_BAR_CELLS - filled)}]"


def decimal_size(size_bytes: int) -> str:
    """Three digits and a decimal unit, as crictl and docker print sizes: `302kB`, `1.23GB`."""
    size = float(size_bytes)
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            return f"{size:.3g}{unit}"
        size /= 1000
    raise AssertionError("unreachable: the last unit always returns")
