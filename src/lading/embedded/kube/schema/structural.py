"""The passes over a document that its structural schema describes; none changes its input.

prune           removes unknown fields and returns their paths
default         fills in absent fields; the given nulls that the schema forbids become defaults
fill_nulls      reads nulls in maps and lists of a built-in kind as empty values
drop_empties    removes empty lists and maps from what kube-apiserver keeps as structs
"""

import copy
from collections.abc import Iterator
from typing import Any

from lading.embedded.kube.schema import causes, formats, nodes
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Document, Schema

_EMPTY = {"string": "", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}
_MEANT_AS_EMPTY = "managedFields"
"""A client that sends this list empty wants all entries removed."""


def prune(schema: Schema, document: Document) -> tuple[Document, list[str]]:
    """The document without unknown fields, and their paths in order.

    `apiVersion`, `kind` and `metadata` of the object and of embedded resources always stay.
    """
    unknown: list[str] = []
    kept = _prune_object({**schema, "x-kubernetes-embedded-resource": True}, document, "", unknown)
    return kept, sorted(unknown)


def unknown_fields(schema: Schema, value: Document) -> list[str]:
    """The unknown paths in a part of a document."""
    unknown: list[str] = []
    _prune_object(schema, value, "", unknown)
    return sorted(unknown)


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    match value:
        case dict():
            return _prune_object(schema, value, path, unknown)
        case list():
            if nodes.preserves_unknown_fields(schema) and "items" not in schema:
                return value
            inner = nodes.items(schema)
            return [
                _prune(inner, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)
            ]
        case _:
            return value


def _prune_object(schema: Schema, value: Document, path: str, unknown: list[str]) -> Document:
    is_resource = nodes.is_embedded_resource(schema)
    kept: Document = {}
    for key, inner in value.items():
        below, place = nodes.child(schema, key), f"{path}.{key}" if path else key
        if is_resource and key in nodes.RESOURCE_FIELDS:
            kept[key] = inner
        elif below is not None:
            kept[key] = _prune(below, inner, place, unknown)
        elif nodes.preserves_unknown_fields(schema):
            kept[key] = inner
        else:
            unknown.append(place)
    return kept


def default(schema: Schema, document: Document) -> Document:
    """The document with defaults; quantities get their one spelling on the way."""
    return _default_object(schema, document)


def _default(schema: Schema, value: Any) -> Any:
    match value:
        case dict():
            return _default_object(schema, value)
        case list() if "items" in schema:
            inner = schema["items"]
            return [_default(inner, _unless_null(inner, item)) for item in value]
        case str() | int() | float() if schema.get("format") == nodes.QUANTITY:
            return formats.canonical_quantity(value)
        case _:
            return value


def _default_object(schema: Schema, value: Document) -> Document:
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


def fill_nulls(schema: Schema, value: Any) -> Any:
    """Nulls in maps and lists become empty values, as Go reads `labels: {app: }`.

    The null of a declared field means that the field is absent, and stays for defaulting.
    """
    match value:
        case dict():
            declared = nodes.properties(schema)
            return {
                key: _fill_null(nodes.child(schema, key) or nodes.EMPTY, inner, key in declared)
                for key, inner in value.items()
            }
        case list():
            return [_fill_null(nodes.items(schema), item, False) for item in value]
        case _:
            return value


def _fill_null(schema: Schema, value: Any, is_field: bool) -> Any:
    if value is not None or is_field:
        return fill_nulls(schema, value)
    if schema.get("format") == nodes.QUANTITY:
        return "0"
    return copy.deepcopy(_EMPTY.get(schema.get("type", "")))


def refused_nulls(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """The nulls of fields that are neither nullable nor have a default."""
    match value:
        case None if schema.get("type") and not schema.get("nullable") and "default" not in schema:
            detail = f'{path} in body must be of type {schema["type"]}: "null"'
            yield causes.type_invalid(path, "null", detail)
        case dict():
            for key, inner in value.items():
                below = nodes.child(schema, key) or nodes.EMPTY
                yield from refused_nulls(below, inner, f"{path}.{key}" if path else key)
        case list():
            for index, item in enumerate(value):
                yield from refused_nulls(nodes.items(schema), item, f"{path}[{index}]")


def drop_empties(schema: Schema, document: Document) -> Document:
    """The document without empty lists and maps; an empty object of named fields stays."""
    declared = nodes.properties(schema)
    kept: Document = {}
    for key, value in document.items():
        below = nodes.child(schema, key) or nodes.EMPTY
        may_go = key in declared and key != _MEANT_AS_EMPTY
        if not (may_go and _is_empty_collection(below, value)):
            kept[key] = _drop_empties(below, value)
    return kept


def _drop_empties(schema: Schema, value: Any) -> Any:
    match value:
        case dict():
            return drop_empties(schema, value)
        case list():
            return [_drop_empties(nodes.items(schema), item) for item in value]
        case _:
            return value


def _is_empty_collection(schema: Schema, value: Any) -> bool:
    if value == []:
        return schema.get("type") == "array"
    return value == {} and nodes.values(schema) is not None and not nodes.properties(schema)
