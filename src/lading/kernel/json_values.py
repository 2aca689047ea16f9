"""JSON values: their number, their depth, and their equality.

Documents from clients, and objects after a patch, are measured before they are used.
"""

from typing import Any

LEVELS_MAX = 200
"""Deeper than any API object, and no deeper than recursion can walk."""
VALUES_MAX = 32_768
"""A manifest of 512 entries has some 10,000; to decode all takes some 10 ms."""


def are_too_many(content: bytes) -> bool:
    """Whether a document may have too many values to decode. Does not decode it.

    Each value follows a comma or is the first in its container. Those in texts count too.
    """
    return sum(map(content.count, (b",", b"[", b"{"))) > VALUES_MAX


def is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(LEVELS_MAX):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


def _containers(value: Any) -> list[Any]:
    match value:
        case dict():
            return [inner for inner in value.values() if isinstance(inner, dict | list)]
        case list():
            return [inner for inner in value if isinstance(inner, dict | list)]
        case _:
            return []


def are_equal(left: Any, right: Any) -> bool:
    """Equal as JSON: unlike Python, true is not 1."""
    if left != right:
        return False
    match left:
        case dict():
            return all(are_equal(value, right[key]) for key, value in left.items())
        case list():
            return all(map(are_equal, left, right))
        case _:
            return isinstance(left, bool) == isinstance(right, bool)
