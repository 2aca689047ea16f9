"""Checks a document against a structural schema: types, bounds, lists, required, alternatives.

On an update the old document may be given too: what was wrong before and did not change is let
through (ratcheting), as the API server does. CEL rules are in `rules`, identity of list items in
`uniqueness`.
"""

from collections.abc import Iterator
from typing import Any

from lading.kernel import json_values
from lading.servers.kube.schema import alternatives, causes, formats, nodes, patterns, uniqueness
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document, Schema

_ABSENT: Any = object()
_USUAL_TYPES = {"string": str, "object": dict, "array": list, "boolean": bool}
"""What decoding gives for a value of the declared type; anything else is looked at closely."""
INTEGERS = {"int32": 2**31, "int64": 2**63}
EXACT_FLOAT_MAX = 2**53 - 1  # beyond it a JSON number may not be the integer it looks like


def validate(schema: Schema, document: Document, old: Document | None = None) -> list[Cause]:
    """Everything that is wrong with the document, named by field."""
    found = list(check(schema, document, "", _ABSENT if old is None else old))
    if nodes.is_builtin(schema):
        return found  # built-in kinds may repeat list items where their own checks allow it
    repeated = list(uniqueness.duplicates(schema, document, ""))
    if repeated and old is not None and list(uniqueness.duplicates(schema, old, "")):
        return found  # kube-apiserver's ratcheting of lists asks for the whole object only
    return found + repeated


def check(schema: Schema, value: Any, path: str, old: Any = _ABSENT) -> Iterator[Cause]:
    """What is wrong with one value and everything below it."""
    if old is not _ABSENT and json_values.are_equal(value, old):
        return
    if type(value) is not _USUAL_TYPES.get(schema.get("type", "")):
        yield from _type(schema, value, path)
    match value:
        case str():
            yield from _string(schema, value, path)
        case bool() | None:
            pass
        case int() | float():
            yield from _number(schema, value, path)
        case list():
            yield from _list(schema, value, path, old)
        case dict():
            yield from _object(schema, value, path, old)
    if "enum" in schema and value is not None and value not in schema["enum"]:
        is_absent = value == "" and nodes.EMPTY_IS_ABSENT in schema
        if not is_absent:
            yield causes.not_supported(path, value, schema["enum"])
    if not alternatives.KEYWORDS.isdisjoint(schema):
        yield from alternatives.check(schema, value, path, check)


def _type(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    wanted, actual = schema.get("type", ""), type_name(value)
    if actual == "null":
        if wanted and not schema.get("nullable"):
            yield _wrong_type(path, wanted, actual)
    elif nodes.is_integer_or_string(schema):
        if actual not in ("integer", "string"):
            yield _wrong_type(path, "integer,string", actual)
    elif wanted and not _fits(wanted, actual, value):
        yield _wrong_type(path, wanted, actual)


def _fits(wanted: str, actual: str, value: Any) -> bool:
    if wanted == "integer" and actual == "number":
        return abs(value) <= EXACT_FLOAT_MAX and float(value).is_integer()
    return wanted == actual or (wanted == "number" and actual == "integer")


def type_name(value: Any) -> str:
    """The JSON type of a value, in the words of OpenAPI."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() if -INTEGERS["int64"] <= value < INTEGERS["int64"]:
            return "integer"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _wrong_type(path: str, wanted: str, actual: str) -> Cause:
    return causes.type_invalid(path, actual, f'{path} in body must be of type {wanted}: "{actual}"')


def _string(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    length = len(value)
    if (limit := schema.get("maxLength")) is not None and length > limit:
        yield causes.too_long(path, limit)
    if (limit := schema.get("minLength")) is not None and length < limit:
        detail = f"{path} in body should be at least {limit} chars long"
        yield causes.invalid(path, value, detail)
    pattern = schema.get("pattern")
    if pattern and not patterns.matches(pattern, value):
        yield causes.invalid(path, value, f"{path} in body should match '{pattern}'")
    text_format = schema.get("format")
    if text_format and not formats.has_format(text_format, value):
        detail = f'{path} in body must be of type {text_format}: "{value}"'
        yield causes.type_invalid(path, value, detail)


def _number(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    def refused(relation: str, bound: float) -> Cause:
        return causes.invalid(path, value, f"{path} in body should be {relation} {bound}")

    maximum, minimum = schema.get("maximum"), schema.get("minimum")
    if maximum is not None:
        if schema.get("exclusiveMaximum") and value >= maximum:
            yield refused("less than", maximum)
        elif value > maximum:
            yield refused("less than or equal to", maximum)
    if minimum is not None:
        if schema.get("exclusiveMinimum") and value <= minimum:
            yield refused("greater than", minimum)
        elif value < minimum:
            yield refused("greater than or equal to", minimum)
    multiple = schema.get("multipleOf")
    if multiple and not (value / multiple).is_integer():
        yield refused("a multiple of", multiple)
    limit = INTEGERS.get(schema.get("format", ""))
    if limit and isinstance(value, int) and not -limit <= value < limit:
        detail = f"Checked value must be of type integer with format {schema['format']} in {path}"
        yield causes.invalid("", "", detail)


def _list(schema: Schema, value: list[Any], path: str, old: Any) -> Iterator[Cause]:
    if (limit := schema.get("maxItems")) is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    if (limit := schema.get("minItems")) is not None and len(value) < limit:
        detail = f"{path} in body should have at least {limit} items"
        yield causes.invalid(path, len(value), detail)
    if schema.get("uniqueItems") and uniqueness.has_repeats(value):
        yield causes.invalid(path, "", f"{path} in body shouldn't contain duplicates")
    if "items" in schema:
        before = nodes.items_by_key(schema, old)
        for index, item in enumerate(value):
            old_item = before.get(nodes.item_label(schema, item), _ABSENT) if before else _ABSENT
            yield from check(schema["items"], item, f"{path}[{index}]", old_item)


def _object(schema: Schema, value: Document, path: str, old: Any) -> Iterator[Cause]:
    before = old if isinstance(old, dict) else {}
    if (limit := schema.get("maxProperties")) is not None and len(value) > limit:
        yield causes.too_many(path, len(value), limit)
    if (limit := schema.get("minProperties")) is not None and len(value) < limit:
        detail = f"{path} in body should have at least {limit} properties"
        yield causes.invalid(path, len(value), detail)
    for key, inner in value.items():
        below = nodes.child(schema, key)
        if below:
            place = f"{path}.{key}" if path else key
            yield from check(below, inner, place, before.get(key, _ABSENT))
    for key in (*schema.get("required", ()), *_required_of_resource(schema)):
        if key not in value:
            yield causes.required(f"{path}.{key}" if path else key)


def _required_of_resource(schema: Schema) -> tuple[str, ...]:
    return ("apiVersion", "kind") if nodes.is_embedded_resource(schema) else ()
