"""How deep a document may be nested: deeper than any API object, and no deeper than can be walked.

Whatever a client sends, and whatever a patch makes of an object, is measured before it is used.
"""

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
