"""Fields that people may select objects by: they are in the schema, and single values."""

from collections.abc import Iterator

from lading.servers.kube.schema import causes, nodes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Document, Schema

_SINGLE = ("string", "boolean", "integer")
_NOT_A_FIELD = "is an invalid path: does not refer to a valid field"
_NOT_SINGLE = (
    "must point to a field of type string, boolean or integer. "
    "Enum string fields and strings with formats are allowed."
)


def problems(version: Document, field: str) -> Iterator[Cause]:
    """What is wrong with the selectable fields of a version, which stands at `field`."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    for index, selectable in enumerate(version.get("selectableFields") or ()):
        place, path = f"{field}.selectableFields[{index}].jsonPath", selectable.get("jsonPath", "")
        found = _at(schema, path)
        if not path:
            yield causes.required(place)
        elif found is None:
            yield causes.invalid(place, path, _NOT_A_FIELD)
        elif found.get("type") not in _SINGLE:
            yield causes.invalid(place, path, _NOT_SINGLE)


def _at(schema: Schema, path: str) -> Schema | None:
    found: Schema | None = schema
    for step in path.removeprefix(".").split("."):
        found = nodes.properties(found).get(step) if found else None
    return found
