"""JSON patch (RFC 6902): a list of operations, all of them or none.

The given document is never changed: the operations work on a copy of it.
"""

import copy
from typing import Any

import msgspec

from lading.servers.kube import nesting
from lading.servers.kube.merge import errors, pointer
from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema.nodes import Document

OPERATIONS_MAX = 10_000  # the API server's own limit
COPIED_BYTES_MAX = 3 * 1024 * 1024
"""Of all operations together, as the API server has it: what copies itself doubles every time."""


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
        patched = _operated(copy.deepcopy(document), operations)
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(patched, dict):
        raise errors.does_not_fit("a JSON patch must leave an object")
    if nesting.is_too_deep(patched):
        raise _too_deep()
    return patched


def _operated(document: Any, operations: list[Document]) -> Any:
    copied_bytes = 0
    for operation in operations:
        if operation.get("op") == "copy":
            copied_bytes += _copied_bytes(document, operation)
        if copied_bytes > COPIED_BYTES_MAX:
            raise errors.does_not_fit(f"its copies are larger than {COPIED_BYTES_MAX} bytes")
        document = _operate(document, operation)
    return document


def _copied_bytes(document: Any, operation: Document) -> int:
    copied = _get_or_null(document, _text(operation, "from"), "copy")
    return len(msgspec.json.encode(copied))


def _too_deep() -> PatchError:
    return errors.does_not_fit(f"it nests deeper than {nesting.LEVELS_MAX} levels")


def _operate(document: Any, operation: Document) -> Any:
    path = _text(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _value(operation), operation="add")
        case "remove":
            return _remove(document, path, operation="remove")
        case "replace":
            return _replace(document, path, _value(operation))
        case "move":
            origin = _text(operation, "from")
            moved = _get(document, origin, operation="move")
            remaining = _remove(document, origin, operation="move")
            return _add(remaining, path, moved, operation="move")
        case "copy":
            copied = copy.deepcopy(_get_or_null(document, _text(operation, "from"), "copy"))
            return _add(document, path, copied, operation="copy")
        case "test":
            return _test(document, path, operation.get("value"))
        case other:
            raise errors.does_not_fit(f'unknown operation "{other}"')


def _get(document: Any, path: str, *, operation: str) -> Any:
    steps = pointer.tokens(path)
    if not steps:
        return document
    place = pointer.parent(document, steps, operation=operation, path=path)
    return pointer.get(place, steps[-1], operation=operation, path=path)


def _get_or_null(document: Any, path: str, operation: str) -> Any:
    """As the API server reads: a key that its object lacks is null, a missing parent an error."""
    steps = pointer.tokens(path)
    if not steps:
        return document
    place = pointer.parent(document, steps, operation=operation, path=path)
    if isinstance(place, dict):
        return place.get(steps[-1])
    return pointer.get(place, steps[-1], operation=operation, path=path)


def _add(document: Any, path: str, value: Any, *, operation: str) -> Any:
    steps = pointer.tokens(path)
    if not steps:
        return value
    place = pointer.parent(document, steps, operation=operation, path=path)
    if isinstance(place, dict):
        place[steps[-1]] = value
    elif steps[-1] == "-":
        place.append(value)
    else:
        place.insert(pointer.index(place, steps[-1], path=path, end=len(place)), value)
    return document


def _remove(document: Any, path: str, *, operation: str) -> Any:
    steps = pointer.tokens(path)
    if not steps:
        raise errors.does_not_fit(f"{operation} does not apply to the whole document")
    place = pointer.parent(document, steps, operation=operation, path=path)
    if isinstance(place, list):
        del place[pointer.index(place, steps[-1], path=path, end=len(place) - 1)]
    elif steps[-1] in place:
        del place[steps[-1]]
    else:
        raise pointer.missing(operation, path)
    return document


def _replace(document: Any, path: str, value: Any) -> Any:
    steps = pointer.tokens(path)
    if not steps:
        return value
    place = pointer.parent(document, steps, operation="replace", path=path)
    if isinstance(place, dict):
        place[steps[-1]] = value
    else:
        place[pointer.index(place, steps[-1], path=path, end=len(place) - 1)] = value
    return document


def _test(document: Any, path: str, wanted: Any) -> Any:
    if not same(_get_or_null(document, path, "test"), wanted):
        raise errors.does_not_fit(f'the value at "{path}" is not the one tested for')
    return document


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: unlike Python, true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _text(operation: Document, member: str) -> str:
    value = operation.get(member)
    if not isinstance(value, str):
        raise errors.does_not_fit(f'operation {operation.get("op")} needs "{member}", a string')
    return value


def _value(operation: Document) -> Any:
    if "value" not in operation:
        raise errors.does_not_fit(f'operation {operation.get("op")} needs "value"')
    return copy.deepcopy(operation["value"])
