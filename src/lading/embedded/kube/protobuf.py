"""Reads the binary bodies that `kubectl create ...` and `kubectl auth` send; answers are JSON.

Only built-in kinds have a binary form. `builtins/messages.json` lists their fields; other fields
are ignored, as kube-apiserver ignores fields that are newer than itself.
"""

import base64
import functools
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from lading.kernel import json_values

Document = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_ENVELOPE = "Unknown"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
}
_ENVELOPE_MESSAGES = {
    _ENVELOPE: {"1": ["typeMeta", "optional", "TypeMeta"], "2": ["raw", "optional", "bytes"]},
    "TypeMeta": {
        "1": ["apiVersion", "optional", "string"],
        "2": ["kind", "optional", "string"],
    },
}


class Malformed(ValueError):
    """The body is no object in the binary form."""


def document(body: bytes, definition: str) -> Document:
    """The object in the body; `definition` is the name of its schema in OpenAPI."""
    name = definition.replace("io.k8s.", "k8s.io.", 1)
    if not body.startswith(MAGIC) or name not in _messages():
        raise Malformed("the body is not a Kubernetes object in its binary form")
    try:
        envelope = _class(_ENVELOPE).FromString(body[len(MAGIC) :])
        found = _read(name, _class(name).FromString(envelope.raw))
    except (DecodeError, ValueError, OverflowError, RecursionError) as error:
        raise Malformed(str(error)) from error
    if json_values.is_too_deep(found):
        raise Malformed(f"the object is nested deeper than {json_values.LEVELS_MAX} levels")
    return {"apiVersion": envelope.typeMeta.apiVersion, "kind": envelope.typeMeta.kind, **found}


@functools.cache
def _messages() -> dict[str, dict[str, list[str]]]:
    text = resources.files(f"{__package__}.builtins").joinpath("messages.json").read_text()
    return {**json.loads(text), **_ENVELOPE_MESSAGES}


@functools.cache
def _pool() -> Any:
    """The messages as protobuf types, in one file; their names have no dots."""
    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto")
    for name, fields in _messages().items():
        message = file.message_type.add(name=_flat(name))
        for number, (field, label, kind) in fields.items():
            added = message.field.add(name=field, number=int(number))
            _set_type(added, kind)
            added.label = _Field.LABEL_OPTIONAL
            if label in ("repeated", "map"):
                added.label = _Field.LABEL_REPEATED
            if label == "map":
                entry = file.message_type.add(name=f"{message.name}_{field}_entry")
                _set_type(entry.field.add(name="key", number=1, label=1), "string")
                _set_type(entry.field.add(name="value", number=2, label=1), kind)
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".{entry.name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _set_type(field: Any, kind: str) -> None:
    field.type = _SCALARS.get(kind, _Field.TYPE_MESSAGE)
    if kind not in _SCALARS:
        field.type_name = f".{_flat(kind)}"


def _flat(name: str) -> str:
    return name.replace(".", "_")


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(_flat(name)))


def _read(name: str, message: Any) -> Document:
    known = {field: (label, kind) for field, label, kind in _messages()[name].values()}
    found: Document = {}
    for descriptor, value in message.ListFields():
        label, kind = known[descriptor.name]
        match label:
            case "map":
                found[descriptor.name] = {each.key: _value(kind, each.value) for each in value}
            case "repeated":
                found[descriptor.name] = [_value(kind, each) for each in value]
            case "nonzero" if not value:
                pass  # the JSON form omits a zero here
            case _:
                found[descriptor.name] = _value(kind, value)
    return {key: value for key, value in found.items() if value not in (None, "")}


def _value(kind: str, value: Any) -> Any:
    if kind == "bytes":
        return base64.b64encode(value).decode()
    if kind in _SCALARS:
        return value
    special = _SPECIAL.get(kind)
    return special(value) if special else _read(kind, value)


def _time(message: Any) -> str | None:
    """Go sends an unset time as an empty message, or as one in the year 1."""
    moment = _EPOCH + timedelta(seconds=message.seconds)
    is_unset = not message.ListFields() or moment.year == 1
    return None if is_unset else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(message: Any) -> str | None:
    whole = _time(message)
    return whole and whole.replace("Z", f".{message.nanos // 1000:06}Z")


def _json(message: Any) -> Any:
    raw = message.Raw if hasattr(message, "Raw") else message.raw
    return json.loads(raw) if raw else None


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    f"{_META}Time": _time,
    f"{_META}MicroTime": _micro_time,
    f"{_META}FieldsV1": _json,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": lambda message: (
        message.strVal if message.type else message.intVal
    ),
    "k8s.io.apimachinery.pkg.api.resource.Quantity": lambda message: message.string,
}
