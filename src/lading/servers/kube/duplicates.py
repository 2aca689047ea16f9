"""Finds the fields that stand twice in JSON or YAML, which decoders pass over in silence."""

import json
from collections.abc import Iterator
from typing import Any

import yaml


class _Pairs(list[tuple[str, Any]]):
    """An object with all its fields, repeated ones too, in order."""


def in_json(body: bytes) -> list[str]:
    """A sentence for each field that stands more than once; the body is known to be JSON."""
    return [f'duplicate field "{path}"' for path in _paths(body)]


def in_yaml(body: bytes) -> list[str]:
    """A sentence for each key that stands more than once; the body is known to be YAML."""
    try:
        if not _paths(body):
            return []
    except ValueError:
        pass  # it is YAML that is no JSON
    root = yaml.compose(body, Loader=yaml.CSafeLoader)
    return [f'line {line}: key "{key}" already set in map' for line, key in _keys(root)]


def _keys(root: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """The repeated keys, by line; a part that an alias names again is looked at once."""
    found: set[tuple[int, str]] = set()
    waiting, known = [root], {id(None)}
    while waiting:
        node = waiting.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            waiting.extend(value for _, value in node.value)
            found |= _repeated(node)
    return iter(sorted(found))


def _repeated(mapping: yaml.MappingNode) -> set[tuple[int, str]]:
    seen: set[str] = set()
    found = set()
    for key, _ in mapping.value:
        name = str(key.value)
        if name in seen:
            found.add((key.start_mark.line + 1, name))
        seen.add(name)
    return found


def _paths(body: bytes) -> list[str]:
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
