"""The documents about the API itself: health, version, discovery and the OpenAPI schemas.

Discovery is served in its aggregated form only (Kubernetes 1.26 and later), which kubectl and
Lading's client ask for.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import msgspec

from lading.embedded.kube import answers, builtins, definitions, openapi
from lading.embedded.kube.resources import Registry, Resource
from lading.ports.http import Request, Response

Document = dict[str, Any]

_AGGREGATED = f"{answers.JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERSION_2 = b"\n\x032.0\x12\x12\n\nKubernetes\x12\x04v1.0B\x00"
"""An OpenAPI v2 document without schemas, as protobuf: swagger "2.0", info, paths.

kubectl reads it to validate a `kind: List`, which has no schema in the v3 documents."""
_VERSION_2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class Pages:
    """Makes each document once, and again when the registry has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._epoch = registry.epoch
        self._made: dict[str, Response] = {}

    def page(self, request: Request) -> Response | None:
        """The answer, or None if the path is none of these documents."""
        if self._epoch != self._registry.epoch:
            self._made.clear()
            self._epoch = self._registry.epoch
        registry = self._registry
        match request.path.strip("/").split("/"):
            case ["livez" | "healthz" | "readyz"]:
                return Response(status=200, headers={"content-type": "text/plain"}, body=b"ok")
            case ["version"]:
                return _json(_version())
            case ["api" | "apis" as root]:
                return self._kept(root, lambda: _json(_groups(registry, root), _AGGREGATED))
            case ["openapi", "v2"]:
                headers = {"content-type": _VERSION_2_TYPE}
                return Response(status=200, headers=headers, body=_VERSION_2)
            case ["openapi", "v3"]:
                return self._kept("", lambda: _json(openapi.index(registry)))
            case ["openapi", "v3", "api", version] if registry.group_exists("", version):
                return self._kept(version, lambda: _json(openapi.document(registry, "", version)))
            case ["openapi", "v3", "apis", group, version] if registry.group_exists(group, version):
                made = f"{group}/{version}"
                return self._kept(made, lambda: _json(openapi.document(registry, group, version)))
            case _:
                return None

    def _kept(self, name: str, make: Callable[[], Response]) -> Response:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def _groups(registry: Registry, root: str) -> Document:
    """The core group for /api, all other groups for /apis."""
    names = [name for name, _ in groupby(sorted(each.group for each in registry))]
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [_version_of(registry, name, each) for each in _versions(registry, name)],
        }
        for name in names
        if (name == "") is (root == "api")
    ]
    identity = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
    return {**identity, "metadata": {}, "items": items}


def _versions(registry: Registry, group: str) -> list[str]:
    found = {each.version for each in registry if each.group == group}
    return sorted(found, key=definitions.version_rank)


def _version_of(registry: Registry, group: str, version: str) -> Document:
    found = [each for each in registry if (each.group, each.version) == (group, version)]
    served = [_resource(each) for each in sorted(found, key=lambda each: each.plural)]
    return {"version": version, "resources": served, "freshness": "Current"}


def _resource(resource: Resource) -> Document:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    found: Document = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": [
            {"subresource": each, "responseKind": kind, "verbs": ["get", "patch", "update"]}
            for each in resource.subresources
        ],
    }
    return {key: value for key, value in found.items() if value != []}


def _version() -> Document:
    full = builtins.kubernetes_version()
    major, minor, *_ = full.removeprefix("v").split(".")
    return {"major": major, "minor": minor, "gitVersion": f"v{full.removeprefix('v')}"}


def _json(document: Document, content_type: str = answers.JSON) -> Response:
    headers = {"content-type": content_type, "vary": "Accept"}
    return Response(status=200, headers=headers, body=msgspec.json.encode(document))
