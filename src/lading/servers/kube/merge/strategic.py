"""Kubernetes strategic merge patch: a merge patch that knows which lists merge, and by what key.

The schema says so per field (`x-kubernetes-patch-strategy`, `-merge-key`). The directives in a
patch are read here and in `lists`; none of them ever reaches the patched document.
"""

from typing import Any

from lading.servers.kube.merge import lists
from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema import nodes
from lading.servers.kube.schema.nodes import Document, Schema

_RETAIN_KEYS = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"


def apply(schema: Schema, document: Document, patch: Any) -> Document:
    """Returns the patched document; raises PatchError when a directive is malformed."""
    if not isinstance(patch, dict):
        raise PatchError("error decoding patch: a strategic merge patch must be a JSON object")
    return _merge(schema, document, patch)


def _merge(schema: Schema, target: Document, patch: Document) -> Document:
    match patch.get(lists.DIRECTIVE, "merge"):
        case "replace":
            return {k: v for k, v in patch.items() if k != lists.DIRECTIVE}
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise lists.unknown_directive(other, patch)
    merged = _retained(target, patch)
    for key, value in _removed_primitives(merged, patch).items():
        merged[key] = value
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_field(nodes.child(schema, key) or {}, merged, key, value)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            _reorder(schema, target, merged, key.removeprefix(_ORDER), order)
    return merged


def _merge_field(schema: Schema, merged: Document, key: str, value: Any) -> None:
    before = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        replaces = not lists.merges(schema) and "x-kubernetes-patch-strategy" in schema
        base = before if isinstance(before, dict) and not replaces else {}
        if value.get(lists.DIRECTIVE) == "delete" and before is None:
            return
        merged[key] = _merge(schema, base, value)
    elif isinstance(value, list) and lists.merges(schema):
        merged[key] = lists.merge(schema, before if isinstance(before, list) else [], value, _merge)
    else:
        merged[key] = value


def _retained(target: Document, patch: Document) -> Document:
    if _RETAIN_KEYS not in patch:
        return dict(target)
    keys = patch[_RETAIN_KEYS]
    if not isinstance(keys, list):
        raise PatchError("invalid patch format of retainKeys")
    given = [key for key, value in patch.items() if not key.startswith("$") and value is not None]
    if any(key not in keys for key in given):
        raise PatchError("patch content doesn't match retainKeys list")
    return {key: value for key, value in target.items() if key in keys}


def _removed_primitives(merged: Document, patch: Document) -> Document:
    """The lists of primitives that `$deleteFromPrimitiveList` makes shorter."""
    shorter: Document = {}
    for key, gone in patch.items():
        if not key.startswith(_DELETE_PRIMITIVES):
            continue
        if not isinstance(gone, list):
            raise PatchError("invalid patch format of primitive list")
        name = key.removeprefix(_DELETE_PRIMITIVES)
        if isinstance(merged.get(name), list):
            shorter[name] = [item for item in merged[name] if item not in gone]
    return shorter


def _reorder(schema: Schema, target: Document, merged: Document, key: str, order: Any) -> None:
    if not isinstance(order, list):
        raise PatchError("invalid patch format of setElementOrder list")
    if isinstance(merged.get(key), list):
        before = target.get(key)
        live = before if isinstance(before, list) else []
        below = nodes.child(schema, key) or {}
        merged[key] = lists.ordered(below, merged[key], order=order, live=live)
