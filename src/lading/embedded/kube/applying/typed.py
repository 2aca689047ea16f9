"""A document read with its schema, as structured merge needs it: fields, differences, merge.

A node is a *leaf* when it is owned as a whole: a scalar, an atomic list or map. Everything else
is granular: its children are owned one by one. Fields the schema does not know are granular if
they are objects and leaves if they are not.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from lading.embedded.kube.applying import paths
from lading.embedded.kube.applying.paths import Path, Paths, Tree
from lading.embedded.kube.schema import nodes
from lading.embedded.kube.schema.nodes import Document, Schema

ABSENT: Final[Any] = object()


class Comparison(msgspec.Struct):
    """The paths that two documents differ in."""

    added: set[Path] = set()
    removed: set[Path] = set()
    modified: set[Path] = set()


def children(schema: Schema, value: Any) -> dict[str, tuple[Schema, Any]] | None:
    """The separately owned parts of a value by path element; None when it is a leaf."""
    match value:
        case dict() if schema.get("x-kubernetes-map-type") != "atomic":
            return {
                paths.field(key): (nodes.child(schema, key) or nodes.EMPTY, inner)
                for key, inner in value.items()
            }
        case list() if nodes.list_type(schema) in ("set", "map"):
            below = nodes.items(schema)
            return {paths.item(schema, inner): (below, inner) for inner in value}
        case _:
            return None


def field_set(schema: Schema, document: Document) -> Paths:
    """Every path that a manager who applies this document owns."""
    return frozenset(_owned(schema, document, ()))


def _owned(schema: Schema, value: Any, path: Path) -> Iterator[Path]:
    parts = children(schema, value)
    if parts is None:
        yield path
        return
    declared = nodes.properties(schema)
    for element, (below, inner) in parts.items():
        place = (*path, element)
        is_declared = element[2:] in declared if element.startswith("f:") else False
        if inner is None or inner == {} or not is_declared:
            yield place
        yield from _owned(below, inner, place)


def compare(schema: Schema, before: Document, after: Document) -> Comparison:
    comparison = Comparison()
    _compare(schema, before, after, (), comparison)
    return comparison


def _compare(schema: Schema, before: Any, after: Any, path: Path, found: Comparison) -> None:
    if before is after:
        return
    left, right = _parts(schema, before, beside=after), _parts(schema, after, beside=before)
    if left is not None and right is not None and (left or right):
        for element in left.keys() | right.keys():
            below = (left.get(element) or right[element])[0]
            old = left[element][1] if element in left else ABSENT
            new = right[element][1] if element in right else ABSENT
            _compare(below, old, new, (*path, element), found)
    elif before is not ABSENT and after is not ABSENT and not same(before, after):
        found.modified.add(path)
    if path and before is ABSENT:
        found.added.add(path)
    elif path and after is ABSENT:
        found.removed.add(path)


def _parts(schema: Schema, value: Any, *, beside: Any) -> dict[str, tuple[Schema, Any]] | None:
    """The children of a value; a null has none where there is a container beside it."""
    is_empty = value is None and isinstance(beside, dict | list)
    return {} if value is ABSENT or is_empty else children(schema, value)


def same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """The live value with all values of the applied one; list items are interleaved."""
    left, right = children(schema, live), children(schema, applied)
    if left is None or right is None:
        return applied
    if isinstance(applied, dict) and isinstance(live, dict):
        merged = dict(live)
        for key, inner in applied.items():
            below = nodes.child(schema, key) or nodes.EMPTY
            merged[key] = merge(below, live[key], inner) if key in live else inner
        return merged
    if isinstance(applied, list) and isinstance(live, list):
        below = nodes.items(schema)
        return [
            merge(below, left[element][1], right[element][1])
            if element in left and element in right
            else (right.get(element) or left[element])[1]
            for element in _interleaved(list(left), list(right))
        ]
    return applied


def _interleaved(live: list[str], applied: list[str]) -> list[str]:
    """Applied items in their order; other live items stay behind the item they followed."""
    result: list[str] = []
    in_live, in_applied = frozenset(live), frozenset(applied)
    shared = [element for element in applied if element in in_live]
    left, right = 0, 0
    while left < len(live) or right < len(applied):
        if left < len(live) and live[left] not in in_applied:
            result.append(live[left])
            left += 1
        elif left < len(live) and (not shared or live[left] != shared[0]):
            left += 1
        else:
            element = applied[right]
            right += 1
            result.append(element)
            if shared and element == shared[0]:
                shared.pop(0)
                left += 1 if left < len(live) and live[left] == element else 0
    return result


def remove(schema: Schema, document: Document, gone: Paths) -> Document:
    """The document without the given paths; an emptied object or list becomes null."""
    removed: Document = _remove(schema, document, paths.tree(gone))
    return removed


def _remove(schema: Schema, value: Any, gone: Tree) -> Any:
    parts = children(schema, value)
    if parts is None:
        return value
    left = {
        element: _remove(below, inner, gone[element]) if element in gone else inner
        for element, (below, inner) in parts.items()
        if "." not in gone.get(element, ())
    }
    if not left:
        return None
    if isinstance(value, list):
        return list(left.values())
    return {element.removeprefix("f:"): inner for element, inner in left.items()}
