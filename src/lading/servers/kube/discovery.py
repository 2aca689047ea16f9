"""Tells clients what is served: group lists, resource lists, and the aggregated form of both."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from lading.servers.kube import definitions
from lading.servers.kube.resources import Registry, Resource

Document = dict[str, Any]

SUBRESOURCE_VERBS = ["get", "patch", "update"]
AGGREGATED_GROUP = "apidiscovery.k8s.io"
AGGREGATED_KIND = "APIGroupDiscoveryList"


def core_versions() -> Document:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def groups(registry: Registry) -> Document:
    found = [group(registry, name) for name in _group_names(registry) if name]
    for each in found:
        del each["kind"], each["apiVersion"]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(registry: Registry, name: str) -> Document:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in _versions(registry, name)
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def resources(registry: Registry, name: str, version: str) -> Document:
    found: list[Document] = []
    for resource in _of_version(registry, name, version):
        found.append(_resource(resource))
        found.extend(_subresource(resource, each) for each in resource.subresources)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}" if name else version,
        "resources": found,
    }


def aggregated(registry: Registry, *, core: bool) -> Document:
    """Everything below /api, or everything below /apis, in one document."""
    names = [name for name in _group_names(registry) if (name == "") is core]
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                _aggregated_version(registry, name, each) for each in _versions(registry, name)
            ],
        }
        for name in names
    ]
    return {
        "kind": AGGREGATED_KIND,
        "apiVersion": f"{AGGREGATED_GROUP}/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_version(registry: Registry, name: str, version: str) -> Document:
    found = [_aggregated_resource(each) for each in _of_version(registry, name, version)]
    return {"version": version, "resources": found, "freshness": "Current"}


def _aggregated_resource(resource: Resource) -> Document:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    found: Document = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": each,
                "responseKind": kind,
                "verbs": SUBRESOURCE_VERBS,
            }
            for each in resource.subresources
        ]
    return found


def _resource(resource: Resource) -> Document:
    found: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    return found


def _subresource(resource: Resource, name: str) -> Document:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": SUBRESOURCE_VERBS,
    }


def _group_names(registry: Registry) -> list[str]:
    return [name for name, _ in groupby(sorted(each.group for each in registry))]


def _versions(registry: Registry, name: str) -> list[str]:
    found = {each.version for each in registry if each.group == name}
    return sorted(found, key=definitions.version_rank)


def _of_version(registry: Registry, name: str, version: str) -> Iterable[Resource]:
    found = [each for each in registry if (each.group, each.version) == (name, version)]
    return sorted(found, key=lambda each: each.plural)
