"""Types for the check of a rule: a schema as message types, so that an unknown field is found.

Only compiling uses these types: at run time values are plain and dynamic. Where messages cannot
say what a schema says (lists of lists, int-or-string), the type is dynamic and nothing is checked.
"""

import itertools
import re
from typing import Any

import msgspec
from cel_expr_python import cel
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.cel import programs, values
from lading.servers.kube.schema.nodes import Schema

_Field = descriptor_pb2.FieldDescriptorProto
_KNOWN_FILES = (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_DYNAMIC = ".google.protobuf.Value"
_SCALARS = {
    "string": (_Field.TYPE_STRING, "StringValue"),
    "int": (_Field.TYPE_INT64, "Int64Value"),
    "double": (_Field.TYPE_DOUBLE, "DoubleValue"),
    "bool": (_Field.TYPE_BOOL, "BoolValue"),
    "bytes": (_Field.TYPE_BYTES, "BytesValue"),
}
_MESSAGES = {
    "timestamp": ".google.protobuf.Timestamp",
    "duration": ".google.protobuf.Duration",
}
_IN_STRUCT = re.compile(r" not found in struct '[^']*'")
_numbers = itertools.count()


def environment(schema: Schema) -> Any:
    """Where rules on the values of this schema are checked: `self` and `oldSelf` have its type."""
    file = _File()
    declared = file.type_of(schema)
    variables = {"self": declared, "oldSelf": declared, "hasOldSelf": cel.Type.BOOL}
    return programs.environment(variables, file.pool())


def problem(expression: str, checked_in: Any) -> str:
    """Why an expression does not fit the types of its environment; empty when it does."""
    try:
        checked_in.compile(expression)
    except RuntimeError as error:
        return programs.compile_message(_IN_STRUCT.sub("", str(error)))
    return ""


class _File(msgspec.Struct):
    """One file of messages, filled while a schema is walked."""

    package: str = msgspec.field(default_factory=lambda: f"schema{next(_numbers)}")
    messages: list[Any] = []

    def pool(self) -> Any:
        pool = descriptor_pool.DescriptorPool()
        file = descriptor_pb2.FileDescriptorProto(name=f"{self.package}.proto")
        file.package = self.package
        file.message_type.extend(self.messages)
        for known in _KNOWN_FILES:
            copied = descriptor_pb2.FileDescriptorProto()
            known.DESCRIPTOR.CopyToProto(copied)
            pool.AddSerializedFile(copied.SerializeToString())
            file.dependency.append(copied.name)
        pool.AddSerializedFile(file.SerializeToString())
        return pool

    def type_of(self, schema: Schema) -> Any:
        kind = values.type_of(schema)
        if kind.startswith("list("):
            return cel.Type.List(self.type_of(nodes.items(schema)))
        if kind.startswith("map("):
            return cel.Type.Map(cel.Type.STRING, self.type_of(nodes.values(schema) or {}))
        if _is_object(schema):
            return cel.Type(self.message(schema).removeprefix("."))
        return getattr(cel.Type, kind.upper())

    def message(self, schema: Schema) -> str:
        """Adds the message of an object, and gives its full name."""
        message = descriptor_pb2.DescriptorProto(name=f"Object{len(self.messages)}")
        self.messages.append(message)
        for key, below in nodes.properties(schema).items():
            for name in values.spellings(key):
                self._add_field(message, name, below)
        return f".{self.package}.{message.name}"

    def _add_field(self, message: Any, name: str, schema: Schema) -> None:
        kind = values.type_of(schema)
        if kind == "dyn" and nodes.preserves_unknown_fields(schema) and not _is_object(schema):
            return  # expressions cannot look into what has no schema
        taken = {entry.name for entry in message.nested_type}
        added = message.field.add(name=name, number=len(message.field) + 1)
        added.label = _Field.LABEL_OPTIONAL
        if kind.startswith("list("):
            added.label = _Field.LABEL_REPEATED
            self._set_type(added, nodes.items(schema))
        elif kind.startswith("map(") and _entry_name(name) not in taken:
            self._add_map(message, added, nodes.values(schema) or {})
        else:
            self._set_type(added, schema)

    def _add_map(self, message: Any, added: Any, below: Schema) -> None:
        """A map is a list of entries of a message of its own."""
        entry = message.nested_type.add(name=_entry_name(added.name))
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, type=_Field.TYPE_STRING)
        value = entry.field.add(name="value", number=2)
        key.label = value.label = _Field.LABEL_OPTIONAL
        self._set_type(value, below)
        added.label, added.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
        added.type_name = f".{self.package}.{message.name}.{entry.name}"

    def _set_type(self, added: Any, schema: Schema) -> None:
        kind = values.type_of(schema)
        if kind in _SCALARS and not schema.get("nullable"):
            added.type = _SCALARS[kind][0]
            return
        added.type = _Field.TYPE_MESSAGE
        if kind in _SCALARS:
            added.type_name = f".google.protobuf.{_SCALARS[kind][1]}"
        elif kind in _MESSAGES:
            added.type_name = _MESSAGES[kind]
        elif _is_object(schema):
            added.type_name = self.message(schema)
        else:
            added.type_name = _DYNAMIC


def _entry_name(name: str) -> str:
    """The name that a map's entries must have: protobuf checks it."""
    words = name.split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + "Entry"


def _is_object(schema: Schema) -> bool:
    return (
        schema.get("type") == "object"
        and nodes.values(schema) is None
        and ("properties" in schema or not nodes.preserves_unknown_fields(schema))
    )
