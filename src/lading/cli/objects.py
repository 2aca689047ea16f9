"""Objects of a cluster that the command line or a file names."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from lading.adapters.kube.discovery import Catalogue
from lading.cli.connection import Target
from lading.cli.documents import ManifestSource
from lading.kernel.objects import Resource
from lading.ports import kube


class ObjectName(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource[dict[str, Any]]
    name: str
    namespace: str
    """Empty for a kind without namespaces."""

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"


def split(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(kind, name) of each object in `KIND NAME...` or `KIND/NAME...`."""
    slashed = ["/" in word for word in words]
    if any(slashed) and not all(slashed):
        raise click.UsageError("write either KIND NAME... or KIND/NAME..., not both")
    if any(slashed):
        pairs = [word.split("/", maxsplit=1) for word in words]
    else:
        pairs = [[words[0], name] for name in words[1:]]
    for kind, name in pairs:
        if not kind or not name:
            raise click.UsageError(f"{kind}/{name}: write a KIND and a NAME")
        yield kind, name


def named(kind: str, name: str, catalogue: Catalogue, target: Target) -> ObjectName:
    resource = catalogue.named(kind)
    return ObjectName(
        resource=resource,
        name=name,
        namespace=target.default_namespace if resource.namespaced else "",
    )


def described(source: ManifestSource, catalogue: Catalogue, target: Target) -> ObjectName:
    """The object that a manifest is about."""
    resource = catalogue.of_kind(source.api_version, source.kind)
    name, namespace = source.metadata.get("name"), source.metadata.get("namespace")
    if not name:
        raise kube.Invalid(f"this {source.kind} has no metadata.name; add one")
    if namespace and target.namespace not in ("", namespace):
        raise kube.Invalid(
            f"metadata.namespace is {namespace!r}, but --namespace is {target.namespace!r}"
        )
    return ObjectName(
        resource=resource,
        name=name,
        namespace=(namespace or target.default_namespace) if resource.namespaced else "",
    )


def placed(
    source: ManifestSource, catalogue: Catalogue, target: Target
) -> tuple[Resource[dict[str, Any]], dict[str, Any]]:
    """The object of a manifest, with its namespace filled in."""
    found = described(source, catalogue, target)
    namespace = {"namespace": found.namespace} if found.namespace else {}
    return found.resource, {**source.content, "metadata": {**source.metadata, **namespace}}


def readable(content: dict[str, Any]) -> dict[str, Any]:
    """Without managedFields, which kubectl does not show either."""
    metadata = {key: value for key, value in content["metadata"].items() if key != "managedFields"}
    return {**content, "metadata": metadata}
