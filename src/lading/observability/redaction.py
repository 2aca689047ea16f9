"""Makes the values of a log line fit to show: no secrets, nothing large, nothing unprintable.

By the name of a field (`password`), and by what `texts.bounded_text` recognises in a text.
"""

from collections.abc import Mapping
from typing import Any

from lading.kernel import texts
from lading.kernel.texts import REDACTED

DEPTH_MAX = 8  # deeper values are not shown at all
ITEMS_MAX = 100
_LINES = frozenset({"exception", "stack"})  # what structlog makes of exc_info and stack_info


def bounded_value(value: Any, *, depth: int = 0) -> Any:
    """The value, as deep as it is shown; any other object is shown as its text."""
    if depth > DEPTH_MAX:
        return REDACTED
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return texts.bounded_text(value)
        case Mapping():
            first = list(value.items())[:ITEMS_MAX]
            shown = {
                texts.bounded_text(str(key)): bounded_field(key, inner, depth=depth + 1)
                for key, inner in first
            }
            return shown if len(value) <= ITEMS_MAX else shown | {"…": f"{len(value)} fields"}
        case list() | tuple():
            items = [bounded_value(inner, depth=depth + 1) for inner in value[:ITEMS_MAX]]
            return items if len(value) <= ITEMS_MAX else [*items, f"… ({len(value)} items)"]
        case _:
            return texts.bounded_text(str(value))


def bounded_field(name: object, value: Any, *, depth: int = 0) -> Any:
    is_secret = isinstance(name, str) and texts.SECRET_NAME.search(name)
    if is_secret and value not in (None, "", False):
        return REDACTED
    if name in _LINES and isinstance(value, str):
        return texts.bounded_text(value, bytes_max=texts.LINES_BYTES_MAX, keep_lines=True)
    return bounded_value(value, depth=depth)
