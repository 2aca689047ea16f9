"""The part of JSON Schema that the chart's values use, so that a test needs no Helm."""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
}
_KNOWN = {
    *("$schema", "default", "type", "enum", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "items", "uniqueItems"),
    *("properties", "additionalProperties", "required", "minProperties"),
}


def problems(schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """The path of each value that the schema refuses, with the keyword that refuses it."""
    unknown = schema.keys() - _KNOWN
    assert not unknown, f"{path}: keywords {unknown} are not checked here"
    wanted = schema.get("type", [])
    names = [wanted] if isinstance(wanted, str) else wanted
    if names and not any(_is(name, value) for name in names):
        yield f"{path}: type"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: enum"
    match value:
        case str():
            yield from (f"{path}: {one}" for one in _of_text(schema, value))
        case int() if not isinstance(value, bool):
            if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                yield f"{path}: bounds"
        case list():
            if schema.get("uniqueItems") and len({repr(one) for one in value}) < len(value):
                yield f"{path}: uniqueItems"
            for index, one in enumerate(value):
                yield from problems(schema.get("items", {}), one, f"{path}[{index}]")
        case dict():
            yield from _of_object(schema, value, path)


def _is(name: str, value: object) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean") is isinstance(value, bool)


def _of_text(schema: Schema, value: str) -> Iterator[str]:
    if not re.search(schema.get("pattern", ""), value):
        yield "pattern"
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        yield "length"


def _of_object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if len(value) < schema.get("minProperties", 0):
        yield f"{path}: minProperties"
    yield from (f"{path}.{key}: required" for key in schema.get("required", ()) if key not in value)
    for key, one in value.items():
        if key in known:
            yield from problems(known[key], one, f"{path}.{key}")
        elif others is False:
            yield f"{path}.{key}: additionalProperties"
        elif isinstance(others, dict):
            yield from problems(others, one, f"{path}.{key}")
