"""How deep a document may be nested: far deeper than any API object, and well inside what the
interpreter can walk."""

from typing import Any

LEVELS_MAX = 200


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
