"""Removes what a structural schema does not know, and says which paths those were.

`apiVersion`, `kind` and `metadata` of the object and of embedded resources always stay.
"""

from typing import Any

from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.nodes import Document, Schema


def prune(schema: Schema, document: Document) -> tuple[Document, list[str]]:
    """Returns the document without unknown fields, and their paths in order."""
    unknown: list[str] = []
    kept = _object({**schema, "x-kubernetes-embedded-resource": True}, document, "", unknown)
    return kept, sorted(unknown)


def unknown_fields(schema: Schema, value: Document) -> list[str]:
    """The paths in a part of a document that its schema does not know."""
    unknown: list[str] = []
    _object(schema, value, "", unknown)
    return sorted(unknown)


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    match value:
        case dict():
            return _object(schema, value, path, unknown)
        case list():
            inner = nodes.items(schema)
            if nodes.preserves_unknown_fields(schema) and "items" not in schema:
                return value
            return [
                _prune(inner, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)
            ]
        case _:
            return value


def _object(schema: Schema, value: Document, path: str, unknown: list[str]) -> Document:
    preserves = nodes.preserves_unknown_fields(schema)
    is_resource = nodes.is_embedded_resource(schema)
    kept: Document = {}
    for key, inner in value.items():
        below = nodes.child(schema, key)
        if is_resource and key in nodes.RESOURCE_FIELDS:
            kept[key] = inner
        elif below is not None:
            kept[key] = _prune(below, inner, f"{path}.{key}" if path else key, unknown)
        elif preserves:
            kept[key] = inner
        else:
            unknown.append(f"{path}.{key}" if path else key)
    return kept
