"""JSON patch (RFC 6902), JSON merge patch (RFC 7396) and Kubernetes strategic merge patch.

None of them changes the given document. python-jsonpath applies JSON patches. In a strategic merge
patch the schema says which lists merge: by the key in `x-kubernetes-patch-merge-key`, or as a set
of primitives. Its directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList` and
`$setElementOrder`) never reach the patched document.
"""

from typing import Any

import msgspec
from jsonpath import patch as jsonpatch
from jsonpath.exceptions import JSONPatchError, JSONPointerError

from lading.embedded.kube.schema import nodes
from lading.embedded.kube.schema.nodes import Document, Schema
from lading.kernel import json_values

OPERATIONS_MAX = 1_000
DOCUMENT_BYTES_MAX = 3 * 1024 * 1024
"""Checked after every copy: a document that copies itself doubles every time."""
_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


class PatchError(ValueError):
    """A patch cannot be read (code 400), or does not fit the document (422)."""

    def __init__(self, message: str, *, code: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def apply_json(document: Document, operations: Any) -> Document:
    """The document after all operations; a failing one fails the whole patch."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise PatchError("error decoding patch: a JSON patch must be a list of operations")
    if len(operations) > OPERATIONS_MAX:
        raise PatchError(f"a JSON patch may have at most {OPERATIONS_MAX} operations")
    patched: Any = msgspec.json.decode(msgspec.json.encode(document))
    for operation in operations:
        patched = _after(patched, operation)
    if not isinstance(patched, dict):
        raise _does_not_fit("a JSON patch must leave an object")
    if json_values.is_too_deep(patched):
        raise _does_not_fit(f"it nests deeper than {json_values.LEVELS_MAX} levels")
    return patched


def _after(document: Any, operation: Document) -> Any:
    place = f'{operation.get("op")} "{operation.get("path")}"'
    if operation.get("op") not in _OPERATIONS:
        raise _does_not_fit(f"{place}: the operation is unknown")
    try:
        patched: Any = jsonpatch.JSONPatch([operation], unicode_escape=False).apply(document)
    except (JSONPatchError, JSONPointerError) as error:
        raise _does_not_fit(f"{place} does not apply: {error}") from None
    except (RecursionError, TypeError, ValueError, LookupError, AttributeError):
        raise _does_not_fit(f"{place} does not apply") from None
    if operation["op"] == "copy" and len(msgspec.json.encode(patched)) > DOCUMENT_BYTES_MAX:
        raise _does_not_fit(f"{place} makes it larger than {DOCUMENT_BYTES_MAX} bytes")
    return patched


def _does_not_fit(why: str) -> PatchError:
    return PatchError(
        f"the server rejected our request due to an error in our request: {why}", code=422
    )


def apply_merge(document: Document, patch: Any) -> Document:
    """Objects merge, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        raise PatchError("error decoding patch: a merge patch must be a JSON object")
    return _merge(document, patch)


def _merge(target: Any, patch: Document) -> Document:
    merged: Document = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def apply_strategic(schema: Schema, document: Document, patch: Any) -> Document:
    """The patched document; raises PatchError when a directive is malformed."""
    if not isinstance(patch, dict):
        raise PatchError("error decoding patch: a strategic merge patch must be a JSON object")
    return _merge_strategic(schema, document, patch)


def _merge_strategic(schema: Schema, target: Document, patch: Document) -> Document:
    match patch.get(_DIRECTIVE, "merge"):
        case "replace":
            return {key: value for key, value in patch.items() if key != _DIRECTIVE}
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise PatchError(f"unknown patch type: {other}")
    merged = dict(target)
    if _RETAIN_KEYS in patch:
        keys = _list(patch, _RETAIN_KEYS)
        merged = {key: value for key, value in target.items() if key in keys}
    for key in (key for key in patch if key.startswith(_DELETE_PRIMITIVES)):
        gone, name = _list(patch, key), key.removeprefix(_DELETE_PRIMITIVES)
        if isinstance(merged.get(name), list):
            merged[name] = [item for item in merged[name] if item not in gone]
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_field(nodes.child(schema, key) or {}, merged, key, value)
    for key in (key for key in patch if key.startswith(_ORDER)):
        name = key.removeprefix(_ORDER)
        if isinstance(merged.get(name), list):
            merge_key = _merge_key(nodes.child(schema, name) or {})
            merged[name] = _ordered(merged[name], _list(patch, key), merge_key)
    return merged


def _merge_field(schema: Schema, merged: Document, key: str, value: Any) -> None:
    before, strategy = merged.get(key), str(schema.get("x-kubernetes-patch-strategy", ""))
    merges = "merge" in strategy.split(",")
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        if value.get(_DIRECTIVE) == "delete" and before is None:
            return
        base = before if isinstance(before, dict) and (merges or not strategy) else {}
        merged[key] = _merge_strategic(schema, base, value)
    elif isinstance(value, list) and merges:
        merged[key] = _merge_list(schema, before if isinstance(before, list) else [], value)
    else:
        merged[key] = value


def _merge_list(schema: Schema, live: list[Any], patch: list[Any]) -> list[Any]:
    key, merged = _merge_key(schema), list(live)
    for item in patch:
        if not key:
            merged += [] if item in merged else [item]
            continue
        if not isinstance(item, dict):
            raise PatchError(f"expected a list of objects with merge key {key}")
        if item.get(_DIRECTIVE) == "replace":
            merged = [each for each in patch if _DIRECTIVE not in each]
            break
        if key not in item:
            raise PatchError(f"an item does not contain declared merge key: {key}")
        place = next((at for at, each in enumerate(merged) if _key(each, key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            merged = [each for each in merged if _key(each, key) != item[key]]
        elif place is None:
            merged.append(_merge_strategic(nodes.items(schema), {}, item))
        else:
            merged[place] = _merge_strategic(nodes.items(schema), merged[place], item)
    return merged


def _ordered(items: list[Any], order: list[Any], key: str) -> list[Any]:
    """The items that the directive names in its order, then the others."""
    wanted = [_key(each, key) for each in order]

    def rank(item: Any) -> int:
        identity = _key(item, key)
        return wanted.index(identity) if identity in wanted else len(wanted)

    return sorted(items, key=rank)


def _merge_key(schema: Schema) -> str:
    return str(schema.get("x-kubernetes-patch-merge-key", ""))


def _key(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _list(patch: Document, key: str) -> list[Any]:
    if not isinstance(patch[key], list):
        raise PatchError(f"invalid patch format: {key} must be a list")
    found: list[Any] = patch[key]
    return found
