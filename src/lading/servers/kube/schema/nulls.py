"""What a null among the values of a map or in a list means in a built-in kind: an empty value.

That is how Go reads it, and how people write it: `labels: {app: }`. The null of a field of its
own means that the field is absent, and is left to defaulting.
"""

import copy
from typing import Any

from lading.servers.kube.schema import nodes
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
