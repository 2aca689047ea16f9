"""Unknown fields of a request: refused, warned about or dropped, as `fieldValidation` asks."""

from typing import Any

from lading.servers.kube import bodies, builtins, status
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import structural
from lading.servers.kube.schema.causes import Reason

Document = dict[str, Any]

WARNINGS_MAX = 10
"""More unknown fields than this are dropped without naming each of them."""


def known(
    resource: Resource, document: Document, *, validation: str, warnings: list[str]
) -> Document:
    """Returns the document with the fields that the schema knows."""
    schema = builtins.object_metadata()
    metadata, unknown_metadata = structural.prune(schema, document["metadata"])
    metadata = structural.default(schema, metadata)
    _refuse_wrong_metadata(resource, metadata)
    kept, unknown = structural.prune(resource.schema, document)
    kept["metadata"] = metadata
    unknown = sorted(unknown + [f"metadata.{path}" for path in unknown_metadata])
    texts = [f'unknown field "{path}"' for path in unknown]
    if texts and validation == "Strict":
        raise status.bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(texts)}"
        )
    if validation == "Warn":
        warnings.extend(texts[:WARNINGS_MAX])
    return kept


def _refuse_wrong_metadata(resource: Resource, metadata: Document) -> None:
    """Everything after this may take metadata for what its schema says."""
    for cause in structural.validate(builtins.object_metadata(), metadata):
        if cause.reason == Reason.TYPE_INVALID:
            raise bodies.cannot_unmarshal(resource, cause.bad_value, f"metadata.{cause.field}")
