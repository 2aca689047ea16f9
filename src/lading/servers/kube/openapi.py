"""OpenAPI documents of what is served: v3 per group and version, as kubectl reads them.

They carry the schemas that explain, apply and diff use, and the options of each operation, from
which kubectl learns that dry run and field validation are done here. There is no prose.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lading.servers.kube import builtins
from lading.servers.kube.resources import Registry, Resource

Document = dict[str, Any]

_PREFIX = "#/components/schemas/"
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OPTIONS = {
    "get": ("resourceVersion",),
    "list": (
        "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
        "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
    ),
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "deletecollection": ("dryRun", "fieldSelector", "labelSelector", "propagationPolicy"),
}  # fmt: skip
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)


def index(registry: Registry) -> Document:
    """Where the document of each group and version is; the hash changes when it does."""
    found = {_root(each.group, each.version): (each.group, each.version) for each in registry}
    return {
        "paths": {
            root.lstrip("/"): {
                "serverRelativeURL": f"/openapi/v3{root}?hash={_hash(registry, *where)}"
            }
            for root, where in sorted(found.items())
        }
    }


def document(registry: Registry, group: str, version: str) -> Document:
    served = [each for each in registry if (each.group, each.version) == (group, version)]
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": builtins.kubernetes_version()},
        "paths": {path: operations for each in served for path, operations in _paths(each)},
        "components": {"schemas": _schemas(served)},
    }


def version_2(registry: Registry) -> Document:
    """The older form: every schema under `definitions`, without the operations."""
    schemas = msgspec.json.encode(_schemas(registry))
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": builtins.kubernetes_version()},
        "paths": {},
        "definitions": msgspec.json.decode(schemas.replace(_PREFIX.encode(), b"#/definitions/")),
    }


def version_2_protobuf() -> bytes:
    """The head of the older form, without schemas.

    kubectl reads it before it looks at a kind that has no definition yet; the fields are
    those of the OpenAPI v2 message: 1 swagger, 2 info (1 title, 2 version), 8 paths.
    """
    info = _text_field(1, "Kubernetes") + _text_field(2, builtins.kubernetes_version())
    return _text_field(1, "2.0") + bytes([2 << 3 | 2, len(info)]) + info + bytes([8 << 3 | 2, 0])


def _text_field(number: int, text: str) -> bytes:
    return bytes([number << 3 | 2, len(text)]) + text.encode()


def _hash(registry: Registry, group: str, version: str) -> str:
    encoded = msgspec.json.encode(document(registry, group, version))
    return hashlib.sha256(encoded).hexdigest().upper()


def _root(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _schemas(served: Iterable[Resource]) -> Document:
    known = builtins.definitions()
    found: Document = {}
    wanted = [_METADATA]
    for resource in served:
        if resource.custom:
            found[resource.definition] = _custom(resource)
        else:
            wanted.append(resource.definition)
        found[f"{resource.definition}List"] = _list(resource)
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = known[name]
            wanted.extend(_references(known[name]))
    return dict(sorted(found.items()))


def _custom(resource: Resource) -> Document:
    properties = {
        **resource.schema["properties"],
        "metadata": {"allOf": [{"$ref": f"{_PREFIX}{_METADATA}"}]},
    }
    return {
        **resource.schema,
        "properties": properties,
        "x-kubernetes-group-version-kind": [_kind(resource)],
    }


def _list(resource: Resource) -> Document:
    items = {"type": "array", "items": {"$ref": f"{_PREFIX}{resource.definition}"}}
    text = {"type": "string"}
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text,
            "items": items,
            "kind": text,
            "metadata": {"type": "object"},
        },
        "x-kubernetes-group-version-kind": [{**_kind(resource), "kind": resource.list_kind}],
    }


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str() as reference}:
            yield reference.removeprefix(_PREFIX)
        case dict():
            for inner in schema.values():
                yield from _references(inner)
        case list():
            for inner in schema:
                yield from _references(inner)


def _paths(resource: Resource) -> Iterator[tuple[str, Document]]:
    root = _root(resource.group, resource.version)
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{scope}/{resource.plural}"
    if resource.is_review:
        yield collection, {"post": _operation(resource, "post")}
        return
    if resource.namespaced:
        yield f"{root}/{resource.plural}", {"get": _operation(resource, "list")}
    yield (
        collection,
        {
            "get": _operation(resource, "list"),
            "post": _operation(resource, "post"),
            "delete": _operation(resource, "deletecollection"),
            "parameters": _path_parameters(collection),
        },
    )
    for path in (f"{collection}/{{name}}", *_status_path(resource, collection)):
        operations = {verb: _operation(resource, verb) for verb in ("get", "put", "patch")}
        if path.endswith("{name}"):
            operations["delete"] = _operation(resource, "delete")
        yield path, {**operations, "parameters": _path_parameters(path)}


def _status_path(resource: Resource, collection: str) -> tuple[str, ...]:
    return (f"{collection}/{{name}}/status",) if resource.has_status else ()


def _operation(resource: Resource, action: str) -> Document:
    name = f"{resource.definition}List" if action == "list" else resource.definition
    reference = {"schema": {"$ref": f"{_PREFIX}{name}"}}
    operation: Document = {
        "operationId": f"{action}.{resource.version}.{resource.storage_name}",
        "parameters": [
            {"name": each, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for each in _OPTIONS[action]
        ],
        "responses": {"200": {"description": "OK", "content": {"application/json": reference}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }
    if action in ("post", "put"):
        operation["requestBody"] = {"content": {"*/*": reference}, "required": True}
    if action == "patch":
        strategic = () if resource.custom else ("application/strategic-merge-patch+json",)
        content = {each: {"schema": {"type": "object"}} for each in (*_PATCH_TYPES, *strategic)}
        operation["requestBody"] = {"content": content, "required": True}
    return operation


def _path_parameters(path: str) -> list[Document]:
    return [
        {"name": each, "in": "path", "required": True, "schema": {"type": "string"}}
        for each in ("namespace", "name")
        if f"{{{each}}}" in path
    ]


def _kind(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
