"""Builds the HTTP request of each verb of the Kubernetes API. Pure."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lading.adapters.kube import retry
from lading.kernel.objects import PartialObjectMetadata, Resource
from lading.ports import kube
from lading.ports.http import Request
from lading.ports.kube import Selection

Query = tuple[tuple[str, str], ...]
JSON_HEADERS = {"content-type": "application/json"}
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


def described(request: Request) -> str:
    return f"{request.method} {request.path}"


def object_path(
    resource: Resource[Any], name: str, *, namespace: str = "", subresource: str = ""
) -> str:
    _check_segment("name", name)
    _check_namespace(resource, namespace)
    return resource.path(namespace=namespace, name=name, subresource=subresource)


def collection_path(resource: Resource[Any], namespace: str) -> str:
    if namespace:
        _check_segment("namespace", namespace)
    return resource.path(namespace=namespace)


def accept(resource: Resource[Any], form: str = "PartialObjectMetadata") -> Mapping[str, str]:
    """Asks for metadata where the resource is one of metadata; otherwise for whole objects."""
    if resource.type is not PartialObjectMetadata:
        return {}
    return {"accept": f"application/json;as={form};g=meta.k8s.io;v=v1,application/json"}


def page(
    resource: Resource[Any], selection: Selection, *, limit: int, continue_token: str
) -> Request:
    resume: Query = (("continue", continue_token),) if continue_token else ()
    return Request(
        method="GET",
        path=collection_path(resource, selection.namespace),
        query=(*selectors(selection), ("limit", str(limit)), *resume),
        headers=accept(resource, "PartialObjectMetadataList"),
    )


def watch(
    resource: Resource[Any],
    selection: Selection,
    *,
    resource_version: str,
    send_initial_events: bool,
    timeout_seconds: int,
) -> Request:
    query: list[tuple[str, str]] = [
        *selectors(selection),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("timeoutSeconds", str(timeout_seconds)),
    ]
    if resource_version:
        query.append(("resourceVersion", resource_version))
    if send_initial_events:
        query.append(("sendInitialEvents", "true"))
        query.append(("resourceVersionMatch", "NotOlderThan"))
    path = collection_path(resource, selection.namespace)
    return Request(method="GET", path=path, query=tuple(query), headers=accept(resource))


def create(
    resource: Resource[Any],
    body: Mapping[str, Any],
    *,
    namespace: str,
    name: str,
    subresource: str,
    query: Query,
) -> Request:
    namespace = namespace or body.get("metadata", {}).get("namespace", "")
    if name:
        path = object_path(resource, name, namespace=namespace, subresource=subresource)
    else:
        _check_namespace(resource, namespace)
        path = resource.path(namespace=namespace)
    encoded = msgspec.json.encode(body)
    return Request(method="POST", path=path, query=query, headers=JSON_HEADERS, body=encoded)


def apply(
    resource: Resource[Any], body: Mapping[str, Any], *, subresource: str, query: Query
) -> Request:
    metadata = body.get("metadata", {})
    return Request(
        method="PATCH",
        path=object_path(
            resource,
            metadata.get("name", ""),
            namespace=metadata.get("namespace", ""),
            subresource=subresource,
        ),
        query=query,
        headers={"content-type": retry.APPLY_PATCH},
        body=msgspec.json.encode(body),
    )


def selectors(selection: Selection) -> Query:
    pairs = (
        ("labelSelector", selection.label_selector),
        ("fieldSelector", selection.field_selector),
    )
    return tuple((name, value) for name, value in pairs if value)


def write_options(dry_run: bool, field_validation: str, field_manager: str = "") -> Query:
    pairs = (
        ("dryRun", "All" if dry_run else ""),
        ("fieldManager", field_manager),
        ("fieldValidation", field_validation),
    )
    return tuple((name, value) for name, value in pairs if value)


def delete_options(
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: str,
    grace_seconds: int | None = None,
    dry_run: bool,
) -> bytes:
    """A body, because the server does not look at the query of a DELETE that has one."""
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
    }
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if given := {field: value for field, value in preconditions.items() if value}:
        options["preconditions"] = given
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    return msgspec.json.encode(options)


def warnings(header: str) -> tuple[str, ...]:
    """The texts of a `Warning` header, of which Kubernetes uses the code 299 only."""
    return tuple(re.sub(r"\\(.)", r"\1", text) for text in _WARNING.findall(header))


def _check_namespace(resource: Resource[Any], namespace: str) -> None:
    if resource.namespaced:
        _check_segment("namespace", namespace)


def _check_segment(what: str, text: str) -> None:
    """An empty or slashed name would address something else: a list, or another resource."""
    if not text or text in (".", "..") or "/" in text or "%" in text or not _is_text(text):
        reason = "expected one path segment in UTF-8, without '/' and '%'"
        raise kube.Invalid(f"{text!r} is not a usable {what}: {reason}", reason="Invalid")


def _is_text(text: str) -> bool:
    """Python keeps bytes of the command line that are not text as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
