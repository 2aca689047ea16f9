"""Documents as CEL sees them through their schema: types, escaped names, only declared fields.

A null field is absent. Lists of type set and map have no order, so the old list is sorted in the
order of the new one before CEL compares them.
"""

import base64
import binascii
import functools
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from lading.embedded.kube.schema import nodes
from lading.embedded.kube.schema.nodes import Document, Schema
from lading.kernel import durations
from lading.kernel.errors import Malformed

_RESERVED_WORDS = (
    "as break const continue else false for function if import in let loop namespace null "
    "package return true var void while"
)
_RESERVED = frozenset(_RESERVED_WORDS.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|\.|-|/")


def type_of(schema: Schema) -> str:
    """The CEL type of a schema; objects are dynamic."""
    if nodes.is_integer_or_string(schema):
        return "dyn"
    match schema.get("type"):
        case "string":
            return _STRING_TYPES.get(schema.get("format", ""), "string")
        case "integer":
            return "int"
        case "number":
            return "double"
        case "boolean":
            return "bool"
        case "array":
            return f"list({type_of(nodes.items(schema))})"
        case "object" if nodes.values(schema) is not None:
            return f"map({type_of(nodes.values(schema) or {})})"
        case _:
            return "dyn"


_STRING_TYPES = {
    "byte": "bytes",
    "date": "timestamp",
    "date-time": "timestamp",
    "duration": "duration",
}


def visible(schema: Schema, value: Any, beside: Any = None) -> Any:
    """The value for CEL; sets and map lists are sorted in the order of `beside`."""
    match value:
        case dict():
            return _visible_object(schema, value, beside if isinstance(beside, dict) else {})
        case list():
            inner = nodes.items(schema)
            ordered = _in_order_of(schema, value, beside if isinstance(beside, list) else [])
            return [visible(inner, item, other) for item, other in ordered]
        case str() if schema.get("type") == "string" and "format" in schema:
            return _visible_text(schema["format"], value)
        case int() if schema.get("type") == "number" and not isinstance(value, bool):
            return float(value)
        case float() if schema.get("type") == "integer":
            return int(value)
        case _:
            return value


def _visible_object(schema: Schema, value: Document, beside: Document) -> Document:
    declared = nodes.properties(schema)
    if not declared:
        below = nodes.values(schema)
        if below is None:
            return value
        return {key: visible(below, each, beside.get(key)) for key, each in value.items()}
    return {
        name: visible(declared[key], each, beside.get(key))
        for key, each in value.items()
        if key in declared and each is not None
        for name in spellings(key)
    }


def _in_order_of(schema: Schema, value: list[Any], other: list[Any]) -> list[tuple[Any, Any]]:
    """Each item with its counterpart in the other list, in the order of the other list."""
    kind = nodes.list_type(schema)
    if kind == "atomic" or not other:
        return [(item, None) for item in value]

    def identity(item: Any) -> str:
        return repr(item if kind == "set" else nodes.item_key(schema, item))

    counterparts = {identity(item): (place, item) for place, item in enumerate(other)}
    last = (len(other), None)
    paired = sorted(
        ((counterparts.get(identity(item), last), item) for item in value),
        key=lambda pair: pair[0][0],
    )
    return [(item, counterpart) for (_, counterpart), item in paired]


def _visible_text(text_format: str, text: str) -> Any:
    """A typed value for the formats that CEL knows; a malformed text stays a string."""
    try:
        match text_format:
            case "duration":
                return _duration(durations.parse(text))
            case "date-time":
                return _timestamp(datetime.fromisoformat(text.upper()))
            case "date":
                day = date.fromisoformat(text)
                return _timestamp(datetime(day.year, day.month, day.day, tzinfo=UTC))
            case "byte":
                return base64.b64decode(text, validate=True)
    except (ValueError, Malformed, binascii.Error):
        return text
    return text


def _timestamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def _duration(length: timedelta) -> Duration:
    message = Duration()
    message.FromTimedelta(length)
    return message


@functools.lru_cache(maxsize=4096)
def spellings(name: str) -> tuple[str, ...]:
    """How an expression may write a field: `namespace` also as `__namespace__`, as it once had to.

    A name that no identifier can spell is out of reach for expressions.
    """
    if name in _RESERVED:
        return (f"__{name}__", name)
    replaced = _ESCAPED.sub(lambda match: _SPECIAL[match[0]], name)
    return (replaced,) if _NAME.fullmatch(replaced) else ()
