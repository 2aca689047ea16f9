"""Reads a path into what it asks for: a resource, or one of the documents about the API.

A path that names nothing served is a 404, as kube-apiserver answers it. Verbs are not looked at.
"""

import msgspec

from lading.servers.kube import status
from lading.servers.kube.resources import Registry, Resource


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A collection, an object, or a subresource of an object."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class NoSuchPath(Exception):
    """Nothing is served there at all; the answer is plain text."""


def target(path: str, registry: Registry) -> Target:
    """Reads `/api/v1/...` and `/apis/GROUP/VERSION/...`."""
    group, version, rest = _group_version(path)
    if not registry.group_exists(group, version):
        raise NoSuchPath(path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = registry.find(group, version, rest[0])
    if resource is None or len(rest) > 3 or not _scope_fits(resource, namespace, rest):
        raise status.no_such_resource()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in resource.subresources:
        if resource.custom:
            raise status.not_found(group=resource.group, plural=resource.plural, name=name)
        raise status.no_such_resource()
    return Target(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _group_version(path: str) -> tuple[str, str, list[str]]:
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[0] == "apis" and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    raise NoSuchPath(path)


def _scope_fits(resource: Resource, namespace: str, rest: list[str]) -> bool:
    """A cluster-scoped object has no namespace; a namespaced one is only named inside one."""
    if namespace:
        return resource.namespaced
    return not resource.namespaced or len(rest) == 1
