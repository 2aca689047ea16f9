"""OpenAPI v3 documents, one for each group and version, as far as kubectl reads them.

They hold the schemas for `kubectl explain`, and the options of create and patch: kubectl looks up
whether the server supports dry run and field validation. Built-in kinds have no descriptions.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lading.embedded.kube import builtins
from lading.embedded.kube.resources import Registry, Resource

Document = dict[str, Any]

_PREFIX = "#/components/schemas/"
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ACTIONS = {"post": "application/json", "patch": "application/apply-patch+yaml"}
_OPTIONS = ("dryRun", "fieldManager", "fieldValidation")


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
    """The operations that kubectl looks up before it asks for dry run or field validation."""
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{_root(resource.group, resource.version)}{scope}/{resource.plural}"
    yield collection, {"post": _operation(resource, "post")}
    if not resource.is_review:
        yield f"{collection}/{{name}}", {"patch": _operation(resource, "patch")}


def _operation(resource: Resource, action: str) -> Document:
    return {
        "operationId": f"{action}.{resource.version}.{resource.storage_name}",
        "parameters": [
            {"name": each, "in": "query", "schema": {"type": "string"}} for each in _OPTIONS
        ],
        "requestBody": {"content": {_ACTIONS[action]: {"schema": {"type": "object"}}}},
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }


def _kind(resource: Resource) -> Document:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
