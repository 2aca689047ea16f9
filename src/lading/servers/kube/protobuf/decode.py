"""Turns an object in Kubernetes' binary form into the document that its JSON would be.

Only built-in kinds have a binary form. Fields are known by `messages.json`; a field that is not
in it is left out, as kube-apiserver leaves out what is newer than itself.
"""

import base64
import functools
import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

from lading.kernel import json_values
from lading.servers.kube.protobuf import wire
from lading.servers.kube.protobuf.wire import Malformed

Document = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
NESTING_LEVELS_MAX = 100
_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def document(body: bytes, definition: str) -> Document:
    """The object in the body; `definition` is the name of its schema in OpenAPI."""
    try:
        found = _enveloped(body, definition)
    except (ValueError, OverflowError, RecursionError, struct.error) as error:
        raise Malformed(str(error)) from error
    if json_values.is_too_deep(found):  # JSON may stand inside of it
        raise Malformed(f"the object is nested deeper than {json_values.LEVELS_MAX} levels")
    return found


def _enveloped(body: bytes, definition: str) -> Document:
    if not body.startswith(MAGIC):
        raise Malformed("the body does not begin as a Kubernetes binary object does")
    envelope = dict(wire.fields(body[len(MAGIC) :]))
    identity = {number: _text(value) for number, value in wire.fields(_bytes(envelope.get(1, b"")))}
    name = definition.replace("io.k8s.", "k8s.io.", 1)
    if name not in _messages():
        raise Malformed(f"{identity.get(2, 'this kind')} has no binary form")
    found = _message(name, _bytes(envelope.get(2, b"")), 0)
    return {"apiVersion": identity.get(1, ""), "kind": identity.get(2, ""), **found}


@functools.cache
def _messages() -> dict[str, dict[int, tuple[str, str, str]]]:
    text = resources.files(__package__).joinpath("messages.json").read_text()
    return {
        name: {int(number): (field, label, kind) for number, (field, label, kind) in each.items()}
        for name, each in json.loads(text).items()
    }


def _message(name: str, data: bytes, level: int) -> Document:
    if level > NESTING_LEVELS_MAX:
        raise Malformed(f"the object is nested deeper than {NESTING_LEVELS_MAX} levels")
    known = _messages()[name]
    found: Document = {}
    for number, value in wire.fields(data):
        if number not in known:
            continue
        field, label, kind = known[number]
        if label == "map":
            entry = dict(wire.fields(_bytes(value)))
            inner = _value(kind, entry.get(2, b""), level)
            found.setdefault(field, {})[_text(entry.get(1, b""))] = inner
        elif label == "repeated":
            found.setdefault(field, []).append(_value(kind, value, level))
        elif label != "nonzero" or value:
            found[field] = _value(kind, value, level)
    return {key: value for key, value in found.items() if not _is_unset(value)}


def _is_unset(value: Any) -> bool:
    """Go sends the zero of what was left out; in JSON it would be absent."""
    return value is None or value == ""


def _value(kind: str, value: int | bytes, level: int) -> Any:
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    if kind in _SPECIAL:
        return _SPECIAL[kind](dict(wire.fields(_bytes(value))))
    return _message(kind, _bytes(value), level + 1)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Malformed("a text or message was expected where a number stands")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Malformed("a number was expected where a text stands")
    return wire.signed(value)


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"a text is not UTF-8: {error}") from None


def _double(value: int | bytes) -> float:
    return float(struct.unpack("<d", _bytes(value))[0])


def _time(fields: dict[int, int | bytes]) -> str | None:
    """A moment; the zero of Go's clock, which is year 1, stands for none."""
    if not fields:
        return None
    moment = _EPOCH + timedelta(seconds=_number(fields.get(1, 0)))
    return None if moment.year == 1 else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(fields: dict[int, int | bytes]) -> str | None:
    if not fields:
        return None
    moment = _EPOCH + timedelta(
        seconds=_number(fields.get(1, 0)), microseconds=_number(fields.get(2, 0)) // 1000
    )
    return None if moment.year == 1 else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _int_or_string(fields: dict[int, int | bytes]) -> int | str:
    return _text(fields.get(3, b"")) if fields.get(1) else _number(fields.get(2, 0))


def _embedded_json(fields: dict[int, int | bytes]) -> Any:
    raw = _bytes(fields.get(1, b""))
    return json.loads(raw) if raw else None


_SCALARS: dict[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
    "bool": lambda value: bool(_number(value)),
    "int32": _number,
    "int64": _number,
    "double": _double,
}
_SPECIAL: dict[str, Callable[[dict[int, int | bytes]], Any]] = {
    f"{_META}Time": _time,
    f"{_META}MicroTime": _micro_time,
    f"{_META}Duration": lambda fields: f"{_number(fields.get(1, 0)) / 1e9:g}s",
    f"{_META}FieldsV1": _embedded_json,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _embedded_json,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": lambda fields: _text(fields.get(1, b"")),
}
