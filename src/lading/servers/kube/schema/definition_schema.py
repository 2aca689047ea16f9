"""Is the schema of a CRD structural, and are its parts sound: types, lists, defaults, patterns.

CEL rules are checked in `definition_rules`. Estimated costs of rules are not computed.
"""

from collections.abc import Iterator
from typing import Any

from lading.servers.kube.schema import (
    causes,
    definition_rules,
    nodes,
    patterns,
    pruning,
    validation,
)
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Schema

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_METADATA_FIELDS = {"name", "generateName"}
_UNSUPPORTED = {
    "$ref": "$ref is not supported",
    "definitions": "definitions is not supported",
    "dependencies": "dependencies is not supported",
    "id": "id is not supported",
    "patternProperties": "patternProperties is not supported",
    "additionalItems": "additionalItems is not supported",
}
_NOT_NESTED = {"type": "empty", "description": "empty", "title": "empty", "default": "undefined"}


def problems(schema: Schema, field: str) -> Iterator[Cause]:
    """Everything wrong with the schema of one version."""
    kind = schema.get("type")
    if not kind:
        yield causes.required(f"{field}.type", "must not be empty at the root")
    elif kind != "object":
        yield causes.invalid(f"{field}.type", kind, "must be object at the root")
    metadata = nodes.properties(schema).get("metadata") or {}
    if set(nodes.properties(metadata)) - _METADATA_FIELDS:
        detail = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield causes.forbidden(f"{field}.properties[metadata]", detail)
    yield from _node(schema, field)
    yield from definition_rules.problems(schema, field)


def _node(schema: Schema, field: str) -> Iterator[Cause]:
    yield from _keywords(schema, field)
    yield from _type(schema, field)
    yield from _list(schema, field)
    yield from _default(schema, field)
    yield from _nested(schema, field)
    for key, below in nodes.properties(schema).items():
        place = f"{field}.properties[{key}]"
        yield from _type_is_given(below, place, "must not be empty for specified object fields")
        yield from _node(below, place)
    for key, what in (("items", "array items"), ("additionalProperties", "object fields")):
        inner = schema.get(key)
        if isinstance(inner, dict):
            detail = f"must not be empty for specified {what}"
            yield from _type_is_given(inner, f"{field}.{key}", detail)
            yield from _node(inner, f"{field}.{key}")


def _type_is_given(schema: Schema, field: str, detail: str) -> Iterator[Cause]:
    if (
        not schema.get("type")
        and not nodes.is_integer_or_string(schema)
        and not nodes.preserves_unknown_fields(schema)
    ):
        yield causes.required(f"{field}.type", detail)


def _keywords(schema: Schema, field: str) -> Iterator[Cause]:
    for key, detail in _UNSUPPORTED.items():
        if schema.get(key):
            yield causes.forbidden(f"{field}.{key}", detail)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield causes.forbidden(f"{field}.uniqueItems", detail)
    if "properties" in schema and schema.get("additionalProperties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield causes.forbidden(f"{field}.additionalProperties", detail)
    pattern = schema.get("pattern")
    if pattern and (problem := patterns.problem(pattern)):
        detail = f"must be a valid regular expression, but isn't: {problem}"
        yield causes.invalid(f"{field}.pattern", pattern, detail)


def _type(schema: Schema, field: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield causes.not_supported(f"{field}.type", kind, _TYPES)
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield causes.required(f"{field}.items", "must be specified")


def _list(schema: Schema, field: str) -> Iterator[Cause]:
    kind = schema.get("x-kubernetes-list-type")
    keys = nodes.list_keys(schema)
    if kind is not None and kind not in _LIST_TYPES:
        yield causes.not_supported(f"{field}.x-kubernetes-list-type", kind, _LIST_TYPES)
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield causes.required(f"{field}.x-kubernetes-list-type", detail)
    if kind == "map":
        yield from _map_keys(schema, keys, field)
    item = nodes.items(schema)
    map_type = item.get("x-kubernetes-map-type")
    if kind == "set" and item.get("type") == "object" and map_type != "atomic":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        yield causes.invalid(f"{field}.items.x-kubernetes-map-type", map_type, detail)


def _map_keys(schema: Schema, keys: list[str], field: str) -> Iterator[Cause]:
    place = f"{field}.x-kubernetes-list-map-keys"
    if not keys:
        yield causes.required(place, "must not be empty if x-kubernetes-list-type is map")
        return
    item = nodes.items(schema)
    declared = nodes.properties(item)
    if any(key not in declared for key in keys):
        yield causes.invalid(place, keys, "entries must all be names of item properties")
        return
    for key in keys:
        if "default" not in declared[key] and key not in item.get("required", ()):
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property"
            )
            yield causes.required(f"{field}.items.properties[{key}].default", detail)


def _default(schema: Schema, field: str) -> Iterator[Cause]:
    value: Any = schema.get("default")
    if value is None:
        return
    place = f"{field}.default"
    if isinstance(value, dict) and pruning.unknown_fields(schema, value):
        yield causes.invalid(place, value, "must not have unknown fields")
    for cause in validation.check(schema, value, ""):
        yield Cause(
            field=place + (f".{cause.field}" if cause.field != causes.ROOT else ""),
            reason=cause.reason,
            message=cause.message,
            bad_value=cause.bad_value,
        )


def _nested(schema: Schema, field: str) -> Iterator[Cause]:
    """Alternatives may only validate values: what defines structure is not theirs to say."""
    alternatives = [
        (f"{field}.{keyword}[{index}]", each)
        for keyword in _ALTERNATIVES
        for index, each in enumerate(schema.get(keyword) or ())
    ]
    if isinstance(schema.get("not"), dict):
        alternatives.append((f"{field}.not", schema["not"]))
    for place, each in alternatives:
        for key, state in _NOT_NESTED.items():
            is_int_or_string = key == "type" and nodes.is_integer_or_string(schema)
            if key in each and not is_int_or_string:
                yield causes.forbidden(f"{place}.{key}", f"must be {state} to be structural")
