"""JSON patch (RFC 6902): a list of operations, all of them or none.

python-jsonpath applies the operations. kube-apiserver departs from the RFC, and so does this
layer: `replace` adds a member that is absent, `copy` and `test` read one as null, and a negative
index counts from the end. The limits are kube-apiserver's too. The given document is never
changed: the operations work on a copy of it.
"""

import copy
import re
from typing import Any

import msgspec
from jsonpath import JSONPointer
from jsonpath.exceptions import JSONPatchError, JSONPointerError, JSONPointerKeyError
from jsonpath.patch import OpAdd, OpRemove, OpReplace

from lading.kernel import json_values
from lading.servers.kube.merge import errors
from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema.nodes import Document

OPERATIONS_MAX = 10_000
COPIED_BYTES_MAX = 3 * 1024 * 1024
"""Of all operations together: a document that copies itself doubles every time."""
_INDEX = re.compile("-?[0-9]{1,6}")


class _Pointer(JSONPointer):
    """A strict pointer: without the library's selectors of keys (`#`, `~`) and loose numbers."""

    def __init__(self, text: str) -> None:
        super().__init__(text, unicode_escape=False)

    def _index(self, key: str) -> int | None:
        return int(key) if _INDEX.fullmatch(key) else None

    def _getitem(self, obj: Any, key: str) -> Any:
        if isinstance(obj, dict) and key in obj:
            return obj[key]
        index = self._index(key) if isinstance(obj, list) else None
        if index is None or not -len(obj) <= index < len(obj):
            raise JSONPointerKeyError("nothing is there")
        return obj[index]

    def of_new_item(self, parent: Any) -> "_Pointer":
        """A negative index counts from the end of the list that has the new item."""
        index = self._index(self.parts[-1]) if isinstance(parent, list) else None
        if index is None or index >= 0:
            return self
        position = index + len(parent) + 1
        if position < 0:
            raise JSONPatchError("index out of range")
        return _Pointer(self._encode([*self.parts[:-1], position]))


def apply(document: Document, operations: Any) -> Document:
    """Returns the document after all operations; a failing one fails the whole patch."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise PatchError("error decoding patch: a JSON patch must be a list of operations")
    if len(operations) > OPERATIONS_MAX:
        raise PatchError(
            f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, "
            f"got {len(operations)}"
        )
    try:
        patched = _after(copy.deepcopy(document), operations)
    except RecursionError:
        raise _too_deep() from None
    if json_values.is_too_deep(patched):
        raise _too_deep()
    return patched


def _too_deep() -> PatchError:
    return errors.does_not_fit(f"it nests deeper than {json_values.LEVELS_MAX} levels")


def _after(document: Document, operations: list[Document]) -> Document:
    copied_bytes = 0
    for operation in operations:
        try:
            if operation.get("op") == "copy":
                copied = _read_or_null(document, _pointer(operation, "from"))
                copied_bytes += len(msgspec.json.encode(copied))
            if copied_bytes > COPIED_BYTES_MAX:
                raise errors.does_not_fit(f"its copies are larger than {COPIED_BYTES_MAX} bytes")
            document = _after_one(document, operation)
        except (JSONPatchError, JSONPointerError) as error:
            place = f'{operation.get("op")} "{operation.get("path")}"'
            raise errors.does_not_fit(f"{place} does not apply: {error}") from None
        if not isinstance(document, dict):
            raise errors.does_not_fit("a JSON patch must leave an object")
    return document


def _after_one(document: Document, operation: Document) -> Any:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _value(operation))
        case "remove":
            return OpRemove(path).apply(document)
        case "replace":
            parent, _ = path.resolve_parent(document)
            replace = OpAdd if isinstance(parent, dict) else OpReplace
            return replace(path, _value(operation)).apply(document)
        case "move":
            origin = _pointer(operation, "from")
            moved = origin.resolve(document)
            return _add(OpRemove(origin).apply(document), path, moved)
        case "copy":
            copied = _read_or_null(document, _pointer(operation, "from"))
            return _add(document, path, copy.deepcopy(copied))
        case "test":
            if json_values.are_equal(_read_or_null(document, path), operation.get("value")):
                return document
            raise JSONPatchError("the value differs")
        case _:
            raise JSONPatchError("the operation is unknown")


def _add(document: Any, path: _Pointer, value: Any) -> Any:
    parent, _ = path.resolve_parent(document)
    return OpAdd(path.of_new_item(parent), value).apply(document)


def _read_or_null(document: Any, path: _Pointer) -> Any:
    """As the API server reads: a key that its object lacks is null, a missing parent an error."""
    parent, _ = path.resolve_parent(document)
    if isinstance(parent, dict):
        return parent.get(path.parts[-1])
    return path.resolve(document)


def _pointer(operation: Document, member: str) -> _Pointer:
    value = operation.get(member)
    if not isinstance(value, str):
        raise JSONPatchError(f'it needs "{member}", a string')
    return _Pointer(value)


def _value(operation: Document) -> Any:
    if "value" not in operation:
        raise JSONPatchError('it needs "value"')
    return copy.deepcopy(operation["value"])
