"""Unknown fields of a request: refused, warned about or dropped, as `fieldValidation` asks."""

from collections.abc import Sequence
from typing import Any

from lading.servers.kube import bodies, builtins, duplicates
from lading.servers.kube.protobuf import decode as protobuf
from lading.servers.kube.requests import Call, WriteOptions
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import nulls, structural
from lading.servers.kube.schema.causes import Cause, Reason

Document = dict[str, Any]

WARNINGS_MAX = 10
"""More unknown fields than this are dropped without naming each of them."""
_METADATA = builtins.object_metadata()
_METADATA_ONLY = {
    "type": "object",
    "properties": {"metadata": _METADATA},
    "x-kubernetes-preserve-unknown-fields": True,
}


def sent(call: Call, options: WriteOptions) -> Document:
    """The object in the body of a request, with the fields that the schema knows."""
    media_type = bodies.media_type(call.headers)
    document = bodies.document(call.body, media_type, call.resource)
    return known(call, options, document, _repeated(call, options, media_type))


def _repeated(call: Call, options: WriteOptions, media_type: str) -> list[str]:
    if options.field_validation == "Ignore" or media_type == protobuf.MEDIA_TYPE:
        return []
    is_yaml = media_type == "application/yaml"
    return duplicates.in_yaml(call.body) if is_yaml else duplicates.in_json(call.body)


def known(
    call: Call, options: WriteOptions, document: Document, repeated: Sequence[str] = ()
) -> Document:
    """Returns the document with the fields that the schema knows."""
    resource, validation = call.resource, options.field_validation
    metadata, unknown_metadata = structural.prune(_METADATA, document["metadata"])
    kept, unknown = structural.prune(resource.schema, document)
    if not resource.custom:
        kept = nulls.filled(resource.schema, kept)
    kept["metadata"] = structural.default(_METADATA, nulls.filled(_METADATA, metadata))
    _refuse_wrong_types(resource, kept)
    unknown = sorted(unknown + [f"metadata.{path}" for path in unknown_metadata])
    texts = [*(f'unknown field "{path}"' for path in unknown), *repeated]
    if texts and validation == "Strict":
        raise bodies.cannot_be_handled(
            resource,
            f"strict decoding error: {', '.join(texts)}",
            found=[
                Cause(field=path, reason=Reason.NOT_SUPPORTED, message="unknown field")
                for path in unknown
            ],
        )
    if validation == "Warn":
        call.warnings.extend(texts[:WARNINGS_MAX])
    return kept


def _refuse_wrong_types(resource: Resource, document: Document) -> None:
    """A built-in kind, and any metadata, cannot even be decoded with a wrong type.

    Everything that comes after may take them for what their schemas say.
    """
    schema = _METADATA_ONLY if resource.custom else resource.schema
    for cause in structural.validate(schema, structural.default(schema, document)):
        if cause.reason == Reason.TYPE_INVALID:
            raise bodies.cannot_be_decoded(resource, cause)
