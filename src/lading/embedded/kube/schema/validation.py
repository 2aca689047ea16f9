"""Checks a document against a structural schema: types, bounds, lists, required, alternatives.

On an update, a value that was invalid before and did not change is accepted (ratcheting), as in
kube-apiserver. CEL rules are in `rules`.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from lading.embedded.kube.schema import causes, formats, nodes
from lading.embedded.kube.schema.causes import Cause
from lading.embedded.kube.schema.nodes import Document, Schema
from lading.kernel import json_values

_ABSENT: Any = object()
_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf", "not"})
_USUAL_TYPES = {"string": str, "object": dict, "array": list, "boolean": bool}
"""The Python type of a decoded value; a value of another type gets a closer check."""
INTEGERS = {"int32": 2**31, "int64": 2**63}
EXACT_FLOAT_MAX = 2**53 - 1  # larger floats are not exact integers


def validate(schema: Schema, document: Document, old: Document | None = None) -> list[Cause]:
    """Every problem of the document, by field."""
    found = list(check(schema, document, "", _ABSENT if old is None else old))
    if nodes.is_builtin(schema):
        return found  # built-in kinds may repeat list items where their own checks allow it
    repeated = list(duplicates(schema, document, ""))
    if repeated and old is not None and list(duplicates(schema, old, "")):
        return found  # kube-apiserver's ratcheting of lists asks for the whole object only
    return found + repeated


def check(schema: Schema, value: Any, path: str, old: Any = _ABSENT) -> Iterator[Cause]:
    """Every problem of one value and everything below it."""
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
    if not _ALTERNATIVES.isdisjoint(schema):
        yield from _alternatives(schema, value, path)


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
    if pattern and not formats.matches(pattern, value):
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
    if schema.get("uniqueItems") and _second_appearances(value):
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


def _alternatives(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """allOf, anyOf, oneOf and not; if none fits, also the causes of the nearest alternative."""

    def results(keyword: str) -> list[list[Cause]]:
        return [list(check(each, value, path)) for each in schema.get(keyword) or ()]

    def refused(rest: str) -> Cause:
        return causes.invalid("", "", f'"{path}" {rest}')

    for result in results("allOf"):
        yield from result
    found = results("anyOf")
    if found and all(found):
        yield refused("must validate at least one schema (anyOf)")
        yield from min(found, key=len)
    found = results("oneOf")
    if found and sum(not result for result in found) != 1:
        yield refused("must validate one and only one schema (oneOf)")
        yield from min(found, key=len)
    if "not" in schema and not list(check(schema["not"], value, path)):
        yield refused("must not validate the schema (not)")


def duplicates(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """The second appearance of each repeated item of a list of type set or map, at any depth."""
    match value:
        case list():
            yield from _in_list(schema, value, path)
            if "items" in schema:
                for index, item in enumerate(value):
                    yield from duplicates(schema["items"], item, f"{path}[{index}]")
        case dict():
            yield from _below(schema, value, path)


def _below(schema: Schema, value: Document, path: str) -> Iterator[Cause]:
    declared = nodes.properties(schema)
    for key, inner in value.items():
        if not isinstance(inner, dict | list):
            continue
        if key in declared:
            yield from duplicates(declared[key], inner, f"{path}.{key}" if path else key)
        elif (below := nodes.values(schema)) is not None:
            yield from duplicates(below, inner, f"{path}[{key}]")


def _in_list(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    match nodes.list_type(schema):
        case "set":
            identities = value
        case "map":
            for index, item in enumerate(value):
                if item is not None and not isinstance(item, dict):
                    detail = "must be an object for an array of list-type map"
                    yield causes.invalid(f"{path}[{index}]", item, detail)
                    return
            keys = nodes.list_keys(schema)
            identities = [{k: item[k] for k in keys if k in item} if item else {} for item in value]
        case _:
            return
    for index in _second_appearances(identities):
        yield causes.duplicate(f"{path}[{index}]", identities[index])


def _second_appearances(values: list[Any]) -> list[int]:
    seen: dict[bytes, int] = {}
    indexes = []
    for index, value in enumerate(values):
        identity = msgspec.json.encode(value, order="sorted")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            indexes.append(index)
    return indexes
