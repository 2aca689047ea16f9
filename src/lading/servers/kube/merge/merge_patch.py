"""JSON merge patch (RFC 7396): objects merge, null removes, everything else replaces."""

from typing import Any

from lading.servers.kube.merge.errors import PatchError
from lading.servers.kube.schema import validation
from lading.servers.kube.schema.nodes import Document


def apply(document: Document, patch: Any) -> Document:
    """Returns the patched document; a patch that is not an object cannot make one."""
    if not isinstance(patch, dict):
        found = validation.type_name(patch)
        raise PatchError(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type "
            "map[string]interface {}"
        )
    return _merge(document, patch)


def _merge(target: Any, patch: dict[str, Any]) -> Document:
    merged: Document = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged
