"""Finds what a person means by `pinnedimagesets`, `pis`, `PinnedImageSet` or `jobs.batch`.

The server's aggregated discovery (Kubernetes 1.30 and later) is read once; resources come back
untyped, for commands that show or apply any kind. Subresources are left out.
"""

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.errors import undecodable
from lading.kernel.errors import UNREADABLE
from lading.kernel.objects import Model, Resource
from lading.ports import kube
from lading.ports.http import Request

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class _ResponseKind(Model, frozen=True, kw_only=True):
    kind: str = ""


class _Resource(Model, frozen=True, kw_only=True):
    resource: str
    scope: str
    response_kind: _ResponseKind = _ResponseKind()
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Version(Model, frozen=True, kw_only=True):
    version: str
    resources: tuple[_Resource, ...] = ()
    freshness: str = ""


class _Group(Model, frozen=True, kw_only=True):
    metadata: dict[str, Any] = {}
    versions: tuple[_Version, ...] = ()


class _Groups(Model, frozen=True, kw_only=True):
    items: tuple[_Group, ...]


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One served version of a kind, with every name that it goes by."""

    resource: Resource[dict[str, Any]]
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        plural, kind = self.resource.plural, self.resource.kind.lower()
        return (plural, self.singular, kind, *self.short_names)


class Catalogue:
    """Everything the server serves, preferred groups and versions first."""

    def __init__(self, served: Iterable[Served], stale_groups: Iterable[str] = ()) -> None:
        self.served = tuple(served)
        self.stale_groups = tuple(stale_groups)
        """Groups of aggregated servers that did not answer: what they serve is not known."""

    def of_kind(self, api_version: str, kind: str) -> Resource[dict[str, Any]]:
        """The resource for the `apiVersion` and `kind` of a manifest."""
        for served in self.served:
            if served.resource.api_version == api_version and served.resource.kind == kind:
                return served.resource
        raise kube.NotFound(
            f'no matches for kind "{kind}" in version "{api_version}": '
            "install its CustomResourceDefinition, or correct apiVersion or kind",
            reason="NotFound",
        )

    def named(self, text: str) -> Resource[dict[str, Any]]:
        """The resource for a name, `name.group` or `name.version.group`, in any letter case."""
        name, _, rest = text.lower().partition(".")
        for served in self.served:
            if name in served.names and _is_in(served.resource, rest):
                return served.resource
        close = self._similar(name)
        raise kube.NotFound(
            f'the server doesn\'t have a resource type "{text}": '
            + (
                f"did you mean {close}?"
                if close
                else "check the name, or install its CustomResourceDefinition"
            ),
            reason="NotFound",
        )

    def _similar(self, name: str) -> str:
        known = {one for served in self.served for one in served.names}
        return " or ".join(difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7))

    def all_named(self, text: str) -> tuple[Resource[dict[str, Any]], ...]:
        """The resources for names with commas between them; a category stands for all in it."""
        words = text.split(",")
        found = (one for word in words for one in self._in_category(word) or (self.named(word),))
        return tuple(dict.fromkeys(found))

    def _in_category(self, name: str) -> tuple[Resource[dict[str, Any]], ...]:
        preferred: dict[tuple[str, str], Resource[dict[str, Any]]] = {}
        for served in self.served:
            if name in served.categories:
                preferred.setdefault(
                    (served.resource.group, served.resource.plural), served.resource
                )
        return tuple(preferred.values())


async def discover(client: KubeClient) -> Catalogue:
    core = await _groups(client, "/api")
    others = await _groups(client, "/apis")
    groups = (*core, *others)
    stale = (
        group.metadata.get("name", "")
        for group in groups
        if any(version.freshness == "Stale" for version in group.versions)
    )
    return Catalogue((served for group in groups for served in _served(group)), stale)


async def _groups(client: KubeClient, path: str) -> tuple[_Group, ...]:
    body = await client.send(Request(method="GET", path=path, headers={"accept": _ACCEPT}))
    try:
        return msgspec.json.decode(body, type=_Groups).items
    except UNREADABLE as error:
        raise undecodable(what=f"GET {path}", type_=_Groups, error=error) from error


def _served(group: _Group) -> Iterable[Served]:
    group_name = group.metadata.get("name", "")
    for version in group.versions:
        for found in version.resources:
            yield Served(
                resource=Resource(
                    group=group_name,
                    version=version.version,
                    kind=found.response_kind.kind,
                    plural=found.resource,
                    namespaced=found.scope == "Namespaced",
                    type=dict,
                ),
                singular=found.singular_resource,
                short_names=found.short_names,
                categories=found.categories,
            )


def _is_in(resource: Resource[Any], group_text: str) -> bool:
    if not group_text:
        return True
    return group_text in (resource.group, f"{resource.version}.{resource.group}".rstrip("."))
