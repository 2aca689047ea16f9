"""Structural schemas from annotated structs.

A field of a struct is `Annotated[type, Field("what it means", ...)]`; the struct's docstring is its
description and its `rules` are its CEL rules. Only what Kubernetes calls a structural schema can be
expressed here; anything else is refused while the CRD is generated, never at run time.
"""

import inspect
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from lading.kernel.fields import Field, Rule

Schema = dict[str, Any]


_KEYWORDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "min_items": "minItems",
    "max_items": "maxItems",
    "max_properties": "maxProperties",
    "list_type": "x-kubernetes-list-type",
    "map_type": "x-kubernetes-map-type",
    "format": "format",
    "default": "default",
}
_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
}


def schema_of(struct: type[msgspec.Struct]) -> Schema:
    """The schema of a struct with everything inlined, because structural schemas have no `$ref`."""
    hints = typing.get_type_hints(struct, include_extras=True)
    fields = msgspec.structs.fields(struct)
    schema: Schema = {
        "type": "object",
        "description": inspect.cleandoc(struct.__doc__ or "").replace("\n", " "),
        "properties": {field.encode_name: _annotated(hints[field.name]) for field in fields},
    }
    required = [field.encode_name for field in fields if field.required]
    if required:
        schema["required"] = required
    return _with_rules(schema, getattr(struct, "rules", ()))


def _annotated(hint: Any) -> Schema:
    if typing.get_origin(hint) is not typing.Annotated:
        return _plain(hint)
    plain, *extras = typing.get_args(hint)
    schema = _plain(plain)
    for extra in extras:
        if isinstance(extra, Field):
            schema = _with_field(schema, extra)
    return schema


def _with_field(schema: Schema, field: Field) -> Schema:
    keywords = {
        keyword: getattr(field, name)
        for name, keyword in _KEYWORDS.items()
        if getattr(field, name) is not None
    }
    merged = {**schema, "description": field.description, **keywords}
    if field.list_map_keys:
        merged["x-kubernetes-list-map-keys"] = list(field.list_map_keys)
    if field.items:
        merged["items"] = _with_field(merged["items"], field.items)
    return _with_rules(merged, field.rules)


def _with_rules(schema: Schema, rules: tuple[Rule, ...]) -> Schema:
    if not rules:
        return schema
    validations = [{"rule": rule.rule, "message": rule.message} for rule in rules]
    return {**schema, "x-kubernetes-validations": validations}


def _plain(hint: Any) -> Schema:
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return {"type": "array", "items": _annotated(arguments[0])}
    if origin is dict and arguments[0] is str:
        return _mapping(arguments[1])
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return schema_of(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": [member.value for member in hint]}
    raise TypeError(f"{hint!r} cannot be expressed in a structural schema")


def _union(members: tuple[Any, ...]) -> Schema:
    present = [member for member in members if member is not type(None)]
    if set(present) == {int, str}:
        return {"x-kubernetes-int-or-string": True}
    if len(present) == 1:
        return _annotated(present[0])
    raise TypeError(f"a union of {members!r} cannot be expressed in a structural schema")


def _mapping(value: Any) -> Schema:
    if value is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": _annotated(value)}
