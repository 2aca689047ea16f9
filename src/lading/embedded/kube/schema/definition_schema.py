"""Checks the schema of a CRD: it is structural, and its defaults, patterns and CEL rules are sound.

The checks keep a wrong schema from being served as if it were right. The cost of rules is not
estimated, and the fields that a rule names are only looked up when the rule runs.
"""

from collections.abc import Iterator
from typing import Any

from lading.embedded.kube.schema import causes, formats, nodes, rules, structural, validation
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Schema

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_UNSUPPORTED = (
    "$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties",
    "uniqueItems",
)  # fmt: skip
_NOT_NESTED = ("type", "description", "title", "default", "x-kubernetes-validations")
_RULE_FIELDS = ("rule", "message", "messageExpression", "reason", "fieldPath")


def problems(schema: Schema, field: str) -> Iterator[Cause]:
    """Every problem of the schema of one version."""
    kind = schema.get("type")
    if kind != "object":
        yield causes.invalid(f"{field}.type", kind, "must be object at the root")
    metadata = nodes.properties(schema).get("metadata") or {}
    if set(nodes.properties(metadata)) - {"name", "generateName"}:
        detail = "must not specify anything other than name and generateName"
        yield causes.forbidden(f"{field}.properties[metadata]", detail)
    yield from _node(schema, field, in_list="")


def _node(schema: Schema, field: str, *, in_list: str) -> Iterator[Cause]:
    """`in_list` is the path of the outer list whose items have no key, so no old value."""
    yield from _keywords(schema, field)
    yield from _list(schema, field)
    yield from _default(schema, field)
    yield from _nested(schema, field)
    for index, source in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule(source, schema, f"{field}.x-kubernetes-validations[{index}]", in_list)
    for key, below in nodes.properties(schema).items():
        yield from _child(below, f"{field}.properties[{key}]", in_list)
    if isinstance(schema.get("items"), dict):
        above = in_list or ("" if nodes.list_type(schema) == "map" else field)
        yield from _child(schema["items"], f"{field}.items", above)
    if values := nodes.values(schema):
        yield from _child(values, f"{field}.additionalProperties", in_list)


def _child(schema: Schema, field: str, in_list: str) -> Iterator[Cause]:
    has_type = (
        schema.get("type")
        or nodes.is_integer_or_string(schema)
        or nodes.preserves_unknown_fields(schema)
    )
    if not has_type:
        yield causes.required(f"{field}.type", "must not be empty for specified fields and items")
    yield from _node(schema, field, in_list=in_list)


def _keywords(schema: Schema, field: str) -> Iterator[Cause]:
    kind, pattern = schema.get("type"), schema.get("pattern")
    if kind and kind not in _TYPES:
        yield causes.not_supported(f"{field}.type", kind, _TYPES)
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield causes.required(f"{field}.items", "must be specified")
    for key in _UNSUPPORTED:
        if schema.get(key):
            yield causes.forbidden(f"{field}.{key}", f"{key} is not supported")
    if pattern and (problem := formats.pattern_problem(pattern)):
        detail = f"must be a valid regular expression, but isn't: {problem}"
        yield causes.invalid(f"{field}.pattern", pattern, detail)


def _list(schema: Schema, field: str) -> Iterator[Cause]:
    kind, keys = schema.get("x-kubernetes-list-type"), nodes.list_keys(schema)
    if kind is not None and kind not in _LIST_TYPES:
        yield causes.not_supported(f"{field}.x-kubernetes-list-type", kind, _LIST_TYPES)
    if bool(keys) != (kind == "map"):
        detail = "must not be empty if, and only if, x-kubernetes-list-type is map"
        yield causes.required(f"{field}.x-kubernetes-list-map-keys", detail)
    item = nodes.items(schema)
    declared = nodes.properties(item)
    for key in keys:
        if "default" not in declared.get(key, {}) and key not in item.get("required", ()):
            detail = "a key of the list must have a default or be a required property"
            yield causes.required(f"{field}.items.properties[{key}].default", detail)


def _default(schema: Schema, field: str) -> Iterator[Cause]:
    value: Any = schema.get("default")
    if value is None:
        return
    place = f"{field}.default"
    if isinstance(value, dict) and structural.unknown_fields(schema, value):
        yield causes.invalid(place, value, "must not have unknown fields")
    for cause in validation.check(schema, value, ""):
        below = f".{cause.field}" if cause.field != causes.ROOT else ""
        yield Cause(field=place + below, reason=cause.reason, message=cause.message)


def _nested(schema: Schema, field: str) -> Iterator[Cause]:
    """Alternatives validate values; they may not define the structure."""
    for keyword in ("allOf", "anyOf", "oneOf", "not"):
        found = schema.get(keyword) or ()
        for each in found if isinstance(found, list) else [found]:
            for key in _NOT_NESTED:
                is_int_or_string = key == "type" and nodes.is_integer_or_string(schema)
                if key in each and not is_int_or_string:
                    yield causes.forbidden(f"{field}.{keyword}.{key}", "must be empty here")


def _rule(source: dict[str, Any], schema: Schema, field: str, in_list: str) -> Iterator[Cause]:
    text = str(source.get("rule", ""))
    if not text.strip():
        yield causes.required(f"{field}.rule", "rule is not specified")
        return
    for key in sorted(set(source) - set(_RULE_FIELDS)):
        yield causes.forbidden(f"{field}.{key}", "this server does not support it")
    rule = rules.rule(source, schema)
    if rule.problem:
        yield causes.invalid(f"{field}.rule", text, rule.problem)
    if rule.uses_old and in_list:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema in {in_list}"
        yield causes.invalid(f"{field}.rule", text, detail)
