"""Fills in the defaults of a structural schema, as the API server does on every read and write.

A default stands for an absent field and for a null where null is not allowed; a null that has
no default and is not allowed is dropped. On the way a quantity gets its one spelling.
"""

import copy
from typing import Any

from lading.servers.kube.schema import nodes, quantities
from lading.servers.kube.schema.nodes import Document, Schema


def default(schema: Schema, document: Document) -> Document:
    """Returns the document with defaults; the given one is left as it was."""
    return _object(schema, document)


def _default(schema: Schema, value: Any) -> Any:
    match value:
        case dict():
            return _object(schema, value)
        case list() if "items" in schema:
            inner = schema["items"]
            return [_default(inner, _unless_null(inner, item)) for item in value]
        case str() | int() | float() if schema.get("format") == nodes.QUANTITY:
            return quantities.canonical(value)
        case _:
            return value


def _object(schema: Schema, value: Document) -> Document:
    filled: Document = {}
    declared = nodes.properties(schema)
    for key, inner in value.items():
        below = nodes.child(schema, key)
        if below is None:
            filled[key] = inner
            continue
        inner = _unless_null(below, inner)
        if inner is None and not below.get("nullable") and key in declared and below:
            continue
        filled[key] = _default(below, inner)
    for key, below in declared.items():
        if key not in filled and below.get("default") is not None:
            filled[key] = _default(below, copy.deepcopy(below["default"]))
    return filled


def _unless_null(schema: Schema, value: Any) -> Any:
    """The value, or the default when the value is a null that the schema does not allow."""
    if value is None and not schema.get("nullable"):
        return copy.deepcopy(schema.get("default"))
    return value
