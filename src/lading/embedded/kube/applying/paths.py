"""Field paths and sets of them, in the spelling of FieldsV1; and the refusals of an apply.

A path is a tuple of elements: `f:name` a field, `k:{...}` a list item by its keys, `v:...` an
item of a set. A set of paths is a frozenset, so union, intersection and difference are Python's.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lading.embedded.kube.schema import nodes
from lading.embedded.kube.schema.nodes import Schema

Path = tuple[str, ...]
Paths = frozenset[Path]
Tree = dict[str, Any]
EMPTY: Paths = frozenset()


class ApplyError(ValueError):
    """The applied configuration does not fit the schema."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """One field of another manager; becomes a cause of reason FieldManagerConflict."""

    manager: str
    """The quoted name, and for updates the API version."""
    field: str

    @property
    def message(self) -> str:
        return f"conflict with {self.manager}"

    reason = "FieldManagerConflict"


class ApplyConflict(Exception):
    """The apply would change fields that other managers own, and force was not given."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        self.causes = conflicts
        self.message = _message(conflicts)
        super().__init__(self.message)


def _message(conflicts: tuple[Conflict, ...]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.manager}: {only.field}"
    lines: list[str] = []
    for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
        lines.append(f"conflicts with {manager}:")
        lines.extend(f"- {each.field}" for each in conflicts if each.manager == manager)
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def field(name: str) -> str:
    return f"f:{name}"


def item(schema: Schema, value: Any) -> str:
    """The element that identifies an item of a list of type set or map."""
    if nodes.list_type(schema) == "set":
        return f"v:{_json(value)}"
    found = zip(nodes.list_keys(schema), nodes.item_key(schema, value) or (), strict=False)
    keys = {key: each for key, each in found if each is not None}
    if not keys:
        names = " ".join(nodes.list_keys(schema))
        raise ApplyError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{_json(keys)}"


def shown_key(identity: Any) -> str:
    """How an item is named by its identity: `[="x"]` in a set, `[name="x"]` in a map."""
    return _shown_element(f"{'k' if isinstance(identity, dict) else 'v'}:{_json(identity)}")


def from_fields(fields: Any, prefix: Path = ()) -> Iterator[Path]:
    """Reads FieldsV1; values that are no objects are ignored."""
    if not isinstance(fields, dict):
        return
    for element, below in fields.items():
        if element == ".":
            continue
        path = (*prefix, element)
        if not below or "." in below:
            yield path
        yield from from_fields(below, path)


def to_fields(paths: Iterable[Path]) -> Tree:
    """Writes FieldsV1; `.` marks a field that is owned together with some of its children."""
    return _collapsed(tree(sorted(paths)))


def _collapsed(node: Tree) -> Tree:
    if node.keys() == {"."}:
        return {}
    return {element: _collapsed(node[element]) for element in sorted(node)}


def tree(paths: Iterable[Path]) -> Tree:
    """The set as nested dictionaries; `.` marks a member."""
    root: Tree = {}
    for path in paths:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return root


def shown(path: Path) -> str:
    """A path for people: `.spec.containers[name="web"].image`."""
    return "".join(map(_shown_element, path))


def _shown_element(element: str) -> str:
    kind, _, rest = element.partition(":")
    match kind:
        case "k":
            keys = json.loads(rest)
            return "[" + ",".join(f"{key}={_json(keys[key])}" for key in sorted(keys)) + "]"
        case "v":
            return f"[={rest}]"
        case "i":
            return f"[{rest}]"
        case _:
            return f".{rest}"


def with_named_fields(schema: Schema, paths: Paths) -> Paths:
    """The set, and every declared field on the path to a member."""
    prefixes = {path[:length] for path in paths for length in range(1, len(path))}
    return paths.union(prefix for prefix in prefixes if _is_declared(schema, prefix))


def _is_declared(schema: Schema, path: Path) -> bool:
    node: Schema = schema
    for element in path[:-1]:
        node = _below(node, element)
    return path[-1].startswith("f:") and path[-1][2:] in nodes.properties(node)


def _below(schema: Schema, element: str) -> Schema:
    if element.startswith("f:"):
        return nodes.child(schema, element[2:]) or nodes.EMPTY
    return nodes.items(schema)


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
