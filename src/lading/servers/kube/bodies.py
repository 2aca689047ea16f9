"""Reads what a client sent: JSON or YAML into a document of the expected kind.

Says no in kube-apiserver's words when the text is broken, too large, nested too deeply, or of
another kind. What the fields mean is for the schema to say.
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from lading.kernel import json_values, yaml_text
from lading.servers.kube import status
from lading.servers.kube.protobuf import decode as protobuf
from lading.servers.kube.protobuf import wire
from lading.servers.kube.resources import Resource
from lading.servers.kube.schema import causes, nodes, quantities
from lading.servers.kube.schema.causes import Cause

Document = dict[str, Any]

BODY_BYTES_MAX = 3 * 1024 * 1024  # kube-apiserver's limit
SHOWN_BYTES_MAX = 200
_TOO_DEEP = "exceeded max depth"
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/=")


def media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def document(body: bytes, content_type: str, resource: Resource) -> Document:
    """The object in the body, which must be of the resource's kind and version."""
    if content_type == protobuf.MEDIA_TYPE and not resource.custom:
        return of_kind(_binary(body, resource), resource)
    if content_type not in ("", "application/json", "application/yaml"):
        raise status.unsupported_media_type(("application/json", "application/yaml"))
    prefix = (
        f"the object provided is unrecognized (must be of type {resource.kind}): "
        "couldn't get version/kind; json parse error: "
    )
    shown = body[:SHOWN_BYTES_MAX].decode(errors="replace") or "<empty>"
    try:
        found = yaml_value(body) if content_type == "application/yaml" else json_value(body)
    except Unreadable as error:
        raise status.bad_request(f"{prefix}{error} ({shown})") from None
    if not isinstance(found, dict):
        kind = _json_type(found)
        raise status.bad_request(f"{prefix}json: cannot unmarshal {kind} into Go value ({shown})")
    for field, title in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if resource.custom and not found.get(field):
            raise status.bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): "
                f"Object '{title}' is missing in '{shown}' ({shown})"
            )
    return of_kind(found, resource)


def _binary(body: bytes, resource: Resource) -> Document:
    try:
        return protobuf.document(body, resource.definition)
    except wire.Malformed as error:
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): {error}"
        ) from None


def of_kind(found: Document, resource: Resource) -> Document:
    """A document may leave out what the path already says; it may not contradict it."""
    kind = found.setdefault("kind", resource.kind) or resource.kind
    version = found.setdefault("apiVersion", resource.api_version) or resource.api_version
    if resource.custom and version != resource.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if (version, kind) != (resource.api_version, resource.kind):
        raise _of_another_kind(resource, version, kind, found)
    found.update(kind=kind, apiVersion=version)
    metadata = found.setdefault("metadata", {})
    if metadata is None:
        found["metadata"] = metadata = {}
    if not isinstance(metadata, dict):
        raise cannot_unmarshal(resource, _json_type(metadata), "metadata")
    return found


class Unreadable(ValueError):
    """The text is not JSON or YAML, or is nested too deeply."""


def json_value(body: bytes) -> Any:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        truncated = "truncated" in str(error)
        text = "unexpected end of JSON input" if truncated else str(error)
        raise Unreadable(text) from None
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


def _of_another_kind(
    resource: Resource, version: str, kind: str, found: Document
) -> status.ApiError:
    if resource.custom:
        metadata = found.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        cause = causes.invalid("kind", kind, f"must be {resource.kind}")
        return status.invalid(group=resource.group, kind=str(kind), name=str(name), found=[cause])
    return cannot_be_handled(
        resource, f'no kind "{kind}" is registered for version "{version}"', kind=str(kind)
    )


def cannot_be_handled(
    resource: Resource, why: str, *, kind: str = "", found: Sequence[Cause] = ()
) -> status.ApiError:
    return status.bad_request(
        f'{kind or resource.kind} in version "{resource.version}" cannot be handled as a '
        f"{resource.kind}: {why}",
        found,
    )


def cannot_be_decoded(resource: Resource, cause: Cause) -> status.ApiError:
    """A value has a type or a form that its field cannot hold; a secret one is not shown."""
    value = str(cause.bad_value)
    if "must be of type byte" in cause.message:
        position = next((at for at, each in enumerate(value) if each not in _BASE64), len(value))
        why = f"illegal base64 data at input byte {position}"
    elif f"must be of type {nodes.QUANTITY}" in cause.message:
        why = quantities.NOT_A_QUANTITY
    elif f"must be of type {nodes.MICRO_TIME}" in cause.message:
        why = f'parsing time "{value}": it is not in the form of RFC 3339 with microseconds'
    elif "must be of type date-time" in cause.message:
        why = f'parsing time "{value}": it is not in the form of RFC 3339'
    else:
        return cannot_unmarshal(resource, value, cause.field)
    return cannot_be_handled(resource, why)


def cannot_unmarshal(resource: Resource, json_type: str, field: str) -> status.ApiError:
    found = {"integer": "number", "boolean": "bool"}.get(json_type, json_type)
    path = f"{resource.kind}.{field}"
    return cannot_be_handled(
        resource, f"json: cannot unmarshal {found} into Go struct field {path}"
    )


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"
