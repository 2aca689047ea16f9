"""Takes empty lists and maps out of what the API server keeps as structs.

A built-in kind, and the metadata of any kind, cannot tell an empty list or map from one that is
not there; a client that sends one does not read it back. An empty object of named fields stays.
"""

from typing import Any

from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.nodes import Document, Schema

_MEANT_AS_EMPTY = "managedFields"
"""A client that sends an empty list wants all of them removed."""


def dropped(schema: Schema, document: Document) -> Document:
    """Returns the document without them; the given one is left as it was."""
    declared = nodes.properties(schema)
    kept: Document = {}
    for key, value in document.items():
        below = nodes.child(schema, key) or nodes.EMPTY
        may_go = key in declared and key != _MEANT_AS_EMPTY
        if not (may_go and _is_empty_collection(below, value)):
            kept[key] = _dropped(below, value)
    return kept


def _dropped(schema: Schema, value: Any) -> Any:
    match value:
        case dict():
            return dropped(schema, value)
        case list():
            return [_dropped(nodes.items(schema), item) for item in value]
        case _:
            return value


def _is_empty_collection(schema: Schema, value: Any) -> bool:
    if value == []:
        return schema.get("type") == "array"
    return value == {} and nodes.values(schema) is not None and not nodes.properties(schema)
