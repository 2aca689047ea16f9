"""Unknown fields of a request: refused, warned about or dropped, as `fieldValidation` asks."""

from collections.abc import Sequence
from typing import Any

from lading.servers.kube import bodies, builtins, duplicates
from lading.servers.kube.requests import Call, WriteOptions
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import structural
from lading.servers.kube.schema.causes import Reason

Document = dict[str, Any]

WARNINGS_MAX = 10
"""More unknown fields than this are dropped without naming each of them."""


def sent(call: Call, options: WriteOptions) -> Document:
    """The object in the body of a request, with the fields that the schema knows."""
    media_type = bodies.media_type(call.headers)
    document = bodies.document(call.body, media_type, call.resource)
    is_json = media_type in ("", "application/json")
    checked = is_json and options.field_validation != "Ignore"
    twice = duplicates.paths(call.body) if checked else []
    return known(call, options, document, twice)


def known(
    call: Call, options: WriteOptions, document: Document, twice: Sequence[str] = ()
) -> Document:
    """Returns the document with the fields that the schema knows."""
    resource, validation = call.resource, options.field_validation
    schema = builtins.object_metadata()
    metadata, unknown_metadata = structural.prune(schema, document["metadata"])
    metadata = structural.default(schema, metadata)
    _refuse_wrong_metadata(resource, metadata)
    kept, unknown = structural.prune(resource.schema, document)
    kept["metadata"] = metadata
    unknown = sorted(unknown + [f"metadata.{path}" for path in unknown_metadata])
    texts = [f'unknown field "{path}"' for path in unknown]
    texts += [f'duplicate field "{path}"' for path in twice]
    if texts and validation == "Strict":
        raise bodies.cannot_be_handled(resource, f"strict decoding error: {', '.join(texts)}")
    if validation == "Warn":
        call.warnings.extend(texts[:WARNINGS_MAX])
    return kept


def _refuse_wrong_metadata(resource: Resource, metadata: Document) -> None:
    """Everything after this may take metadata for what its schema says."""
    for cause in structural.validate(builtins.object_metadata(), metadata):
        if cause.reason == Reason.TYPE_INVALID:
            raise bodies.cannot_unmarshal(resource, str(cause.bad_value), f"metadata.{cause.field}")
