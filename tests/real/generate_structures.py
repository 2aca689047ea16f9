"""Makes `structures.json` of the embedded API server from a real kube-apiserver.

It reads the OpenAPI v3 documents and discovery, keeps types, list types, merge keys and real
defaults, and leaves out descriptions and the defaults that only spell Go's zero values.
"""

import json
import pathlib
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from lading.embedded.kube import builtins

STRUCTURES = pathlib.Path(builtins.__file__).with_name("structures.json")
_REFERENCE = "#/components/schemas/"
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_TIMEOUT_SECONDS = 30
_ZERO_VALUES: tuple[Any, ...] = ("", 0, False, {}, [])
_SUBRESOURCES = ("scale", "status", "token")
_FREE_FORM = {"type": "object"}
_WANTED = {
    ("", "v1"): "ConfigMap Event Namespace Node Pod Secret Service ServiceAccount",
    ("admissionregistration.k8s.io", "v1"): (
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
    ),
    ("apiextensions.k8s.io", "v1"): "CustomResourceDefinition",
    ("apps", "v1"): "DaemonSet Deployment",
    ("authentication.k8s.io", "v1"): "SelfSubjectReview",
    ("authorization.k8s.io", "v1"): "SelfSubjectAccessReview SelfSubjectRulesReview",
    ("batch", "v1"): "CronJob Job",
    ("coordination.k8s.io", "v1"): "Lease",
    ("events.k8s.io", "v1"): "Event",
    ("node.k8s.io", "v1"): "RuntimeClass",
    ("rbac.authorization.k8s.io", "v1"): "ClusterRole ClusterRoleBinding Role RoleBinding",
}
_ROOTS = (
    "io.k8s.api.authentication.v1.TokenRequest",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
)

Get = Callable[[str, str], Any]


def text(*, server: str, token: str, ca_file: pathlib.Path) -> str:
    """The content of `structures.json`."""
    structures = read(_getter(server, token, ca_file))
    return json.dumps(structures, sort_keys=True, separators=(",", ":")) + "\n"


def read(get: Get) -> dict[str, Any]:
    """Everything that `structures.json` holds, asked from a server."""
    schemas: dict[str, Any] = {}
    for group, version in _WANTED:
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        schemas |= get(f"/openapi/v3/{path}", "application/json")["components"]["schemas"]
    kinds = [kind for root in ("/api", "/apis") for kind in _kinds(get(root, _AGGREGATED), schemas)]
    names = _reachable(schemas, [kind["definition"] for kind in kinds] + list(_ROOTS))
    return {
        "definitions": {name: _without_prose(schemas[name]) for name in sorted(names)},
        "kinds": sorted(kinds, key=lambda kind: (kind["group"], kind["kind"])),
        "version": get("/version", "application/json")["gitVersion"],
    }


def _getter(server: str, token: str, ca_file: pathlib.Path) -> Get:
    context = ssl.create_default_context(cafile=ca_file)

    def get(path: str, accept: str) -> Any:
        headers = {"Authorization": f"Bearer {token}", "Accept": accept}
        request = urllib.request.Request(server + path, headers=headers)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=context) as response:
            return json.load(response)

    return get


def _kinds(discovery: Any, schemas: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            wanted = _WANTED.get((name, version["version"]), "").split()
            for resource in version["resources"]:
                if resource["responseKind"]["kind"] in wanted:
                    yield _kind(name, version["version"], resource, schemas)


def _kind(
    group: str, version: str, resource: dict[str, Any], schemas: dict[str, Any]
) -> dict[str, Any]:
    identity = {"group": group, "kind": resource["responseKind"]["kind"], "version": version}
    return {
        **identity,
        "categories": resource.get("categories", []),
        "definition": _definition(identity, schemas),
        "namespaced": resource["scope"] == "Namespaced",
        "plural": resource["resource"],
        "shortNames": resource.get("shortNames", []),
        "singular": resource["singularResource"],
        "subresources": [
            each["subresource"]
            for each in resource.get("subresources", [])
            if each["subresource"] in _SUBRESOURCES
        ],
        "verbs": resource["verbs"],
    }


def _definition(identity: dict[str, str], schemas: dict[str, Any]) -> str:
    for name, schema in schemas.items():
        if identity in schema.get("x-kubernetes-group-version-kind", ()):
            return name
    raise LookupError(f"the server's OpenAPI documents describe no {identity}")


def _reachable(schemas: dict[str, Any], roots: list[str]) -> set[str]:
    seen: set[str] = set()
    waiting = [name for name in roots if name in schemas]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(_references(schemas[name]))
    return seen


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(_REFERENCE)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _without_prose(schema: dict[str, Any]) -> dict[str, Any]:
    """One schema node; `properties` holds field names, so a field `description` must stay."""
    if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
        schema = {**schema, **schema["allOf"][0]}
        del schema["allOf"]
    kept = {key: value for key, value in schema.items() if key != "description"}
    if kept.get("default") in _ZERO_VALUES:
        kept.pop("default", None)
    if kept.get("format") == "int-or-string":
        kept = {"x-kubernetes-int-or-string": True}
    if kept in ({}, _FREE_FORM):
        kept = {**kept, "x-kubernetes-preserve-unknown-fields": True}
    if "properties" in kept:
        kept["properties"] = {k: _without_prose(v) for k, v in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _without_prose(kept[key])
    return kept
