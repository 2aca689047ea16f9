"""What a null means where none is expected.

Among the values of a map or in a list of a built-in kind it is an empty value: that is how Go
reads it, and how people write it: `labels: {app: }`. The null of a field of its own means that
the field is absent, and is left to defaulting; but not in a custom resource that is applied.
"""

import copy
from collections.abc import Iterator
from typing import Any

from lading.servers.kube.schema import causes, nodes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Schema

_EMPTY = {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}


def filled(schema: Schema, value: Any) -> Any:
    """The value with every such null as the empty value of its type."""
    match value:
        case dict():
            declared = nodes.properties(schema)
            return {
                key: _filled(nodes.child(schema, key) or nodes.EMPTY, inner, key in declared)
                for key, inner in value.items()
            }
        case list():
            return [_filled(nodes.items(schema), item, False) for item in value]
        case _:
            return value


def _filled(schema: Schema, value: Any, is_field: bool) -> Any:
    if value is None and not is_field:
        return _empty(schema)
    return filled(schema, value)


def _empty(schema: Schema) -> Any:
    if schema.get("format") == nodes.QUANTITY:
        return "0"
    return copy.deepcopy(_EMPTY.get(schema.get("type", "")))


def refused(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """The nulls of fields that are neither nullable nor have a default."""
    match value:
        case None if schema.get("type") and not schema.get("nullable") and "default" not in schema:
            detail = f'{path} in body must be of type {schema["type"]}: "null"'
            yield causes.type_invalid(path, "null", detail)
        case dict():
            for key, inner in value.items():
                below = nodes.child(schema, key) or nodes.EMPTY
                yield from refused(below, inner, f"{path}.{key}" if path else key)
        case list():
            for index, item in enumerate(value):
                yield from refused(nodes.items(schema), item, f"{path}[{index}]")
