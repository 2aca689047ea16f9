"""Finds the fields that stand twice in a JSON text, which decoders pass over in silence."""

import json
from typing import Any


class _Pairs(list[tuple[str, Any]]):
    """An object whose fields are all kept, in order."""


def paths(body: bytes) -> list[str]:
    """The paths of the fields that stand more than once; the body is known to be JSON."""
    repeated = False

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) < len(pairs)
        return found

    json.loads(body, object_pairs_hook=note)
    return sorted(_walk(json.loads(body, object_pairs_hook=_Pairs), "")) if repeated else []


def _walk(value: Any, path: str) -> set[str]:
    found: set[str] = set()
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, inner in value:
            below = f"{path}.{key}" if path else key
            if key in seen:
                found.add(below)
            seen.add(key)
            found |= _walk(inner, below)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found |= _walk(inner, f"{path}[{index}]")
    return found
