"""Reads the body of a request into a document of the expected kind, without unknown fields.

A body that is not readable, too deep, of another kind or of wrong types is refused. Unknown fields
are refused, warned about or dropped, as the option `fieldValidation` asks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from lading.embedded.kube import builtins, protobuf, status
from lading.embedded.kube.requests import Call, WriteOptions
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import formats, nodes, structural, validation
from lading.embedded.kube.schema.causes import Cause, Reason
from lading.kernel import json_values, yaml_text

Document = dict[str, Any]

BODY_BYTES_MAX = 3 * 1024 * 1024  # kube-apiserver's limit
WARNINGS_MAX = 10
"""More unknown fields than this are dropped without a warning for each."""
_TOO_DEEP = "exceeded max depth"
_METADATA = builtins.object_metadata()
_METADATA_ONLY = {
    "type": "object",
    "properties": {"metadata": _METADATA},
    "x-kubernetes-preserve-unknown-fields": True,
}


class Unreadable(ValueError):
    """The text is not JSON or YAML, or is nested too deeply."""


def media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def sent(call: Call, options: WriteOptions) -> Document:
    """The object in the body of a request, without the fields that the schema does not know."""
    found = _decoded(call.body, media_type(call.headers), call.resource)
    return known(call, options, of_kind(found, call.resource))


def _decoded(body: bytes, content_type: str, resource: Resource) -> Document:
    is_binary = content_type == protobuf.MEDIA_TYPE and not resource.custom
    if not is_binary and content_type not in ("", "application/json", "application/yaml"):
        raise status.unsupported_media_type(("application/json", "application/yaml"))
    prefix = f"the object provided is unrecognized (must be of type {resource.kind}): "
    try:
        if is_binary:
            return protobuf.document(body, resource.definition)
        found = yaml_value(body) if content_type == "application/yaml" else json_value(body)
    except (Unreadable, protobuf.Malformed) as error:
        raise status.bad_request(f"{prefix}{error}") from None
    if not isinstance(found, dict):
        raise status.bad_request(f"{prefix}it is no object")
    for field in ("kind", "apiVersion"):
        if resource.custom and not found.get(field):
            raise status.bad_request(f"{prefix}Object '{field}' is missing")
    return found


def of_kind(found: Document, resource: Resource) -> Document:
    """The document with the kind of the path; raises if it has another kind."""
    kind = found.setdefault("kind", resource.kind) or resource.kind
    version = found.setdefault("apiVersion", resource.api_version) or resource.api_version
    if version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind:
        raise cannot_be_handled(resource, f'no kind "{kind}" is registered for "{version}"')
    metadata = found.get("metadata")
    if not isinstance(metadata, dict | None):
        raise cannot_be_handled(resource, "metadata must be an object")
    found.update(kind=kind, apiVersion=version, metadata={} if metadata is None else metadata)
    return found


def json_value(body: bytes) -> Any:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"json parse error: {error}") from None
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    if json_values.is_too_deep(found):
        raise Unreadable(_TOO_DEEP)
    return found


def yaml_value(body: bytes) -> Any:
    try:
        return yaml_text.value(body)
    except yaml.YAMLError as error:
        raise Unreadable(f"error converting YAML to JSON: {error}") from None


def known(call: Call, options: WriteOptions, document: Document) -> Document:
    """The document without unknown fields; raises if a type is wrong."""
    resource, validation_mode = call.resource, options.field_validation
    metadata, unknown_metadata = structural.prune(_METADATA, document["metadata"])
    kept, unknown = structural.prune(resource.schema, document)
    if not resource.custom:
        kept = structural.fill_nulls(resource.schema, kept)
    kept["metadata"] = structural.default(_METADATA, structural.fill_nulls(_METADATA, metadata))
    _refuse_wrong_types(resource, kept)
    unknown = sorted(unknown + [f"metadata.{path}" for path in unknown_metadata])
    texts = [f'unknown field "{path}"' for path in unknown]
    if texts and validation_mode == "Strict":
        found = [
            Cause(field=path, reason=Reason.NOT_SUPPORTED, message="unknown field")
            for path in unknown
        ]
        raise cannot_be_handled(resource, f"strict decoding error: {', '.join(texts)}", found)
    if validation_mode == "Warn":
        call.warnings.extend(texts[:WARNINGS_MAX])
    return kept


def _refuse_wrong_types(resource: Resource, document: Document) -> None:
    """Refuses wrong types in built-in kinds and metadata, on which all later steps rely."""
    schema = _METADATA_ONLY if resource.custom else resource.schema
    for cause in validation.validate(schema, structural.default(schema, document)):
        if cause.reason == Reason.TYPE_INVALID:
            raise cannot_be_handled(resource, _wrong_type(cause))


def _wrong_type(cause: Cause) -> str:
    """The explanation of a value of the wrong type or form; it never shows a Secret's value."""
    if "must be of type byte" in cause.message:
        return f"{cause.field}: illegal base64 data"
    if f"must be of type {nodes.QUANTITY}" in cause.message:
        return f"{cause.field}: {formats.NOT_A_QUANTITY}"
    if f"must be of type {nodes.MICRO_TIME}" in cause.message:
        return f"{cause.field}: it is not in the form of RFC 3339 with microseconds"
    return f"{cause.field}: {cause.message.partition(': ')[2]}"


def cannot_be_handled(resource: Resource, why: str, found: Sequence[Cause] = ()) -> status.ApiError:
    subject = f'{resource.kind} in version "{resource.version}"'
    return status.bad_request(f"{subject} cannot be handled as a {resource.kind}: {why}", found)
