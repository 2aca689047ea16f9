"""Reads the inventory of a cluster with ImageStreams: streams, Images and image size limits."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.ports import kube
from lading.ports.cluster import Cluster, Untyped
from lading.pruning.engine import extraction, observe
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.types import (
    Inventory,
    InventoryManifest,
    Repository,
    Revision,
    Source,
    Tag,
)

STREAMS = ("image.openshift.io", "imagestreams")
IMAGES = ("image.openshift.io", "images")
LIMIT_RANGES = ("", "limitranges")
MANAGED = "openshift.io/image.managed"
_IMAGE_LIMIT = "openshift.io/Image"


class NoImageStreams(Exception):
    """The cluster does not serve ImageStreams; a plain registry is pruned by its own API."""


async def inventory(cluster: Cluster, registry: str, progress: PruneProgress) -> Inventory:
    """Streams first: an Image that is pushed meanwhile is at worst one too many."""
    kinds = {(one.group, one.plural): one for one in await cluster.kinds()}
    if STREAMS not in kinds or IMAGES not in kinds:
        raise NoImageStreams("the cluster serves no image.openshift.io; name a registry to prune")
    limits = await _limits(cluster, kinds.get(LIMIT_RANGES))
    streams = await repositories(cluster, kinds[STREAMS], limits)
    sizes: dict[str, int] = {}
    images: dict[str, InventoryManifest] = {}
    shared: dict[str, str] = {}
    progress.begin("reading Images")
    async for document, _ in _walked_again(cluster, kinds[IMAGES]):
        if document is not None:
            found = image(document, sizes, shared)
            images[found.digest] = found
            progress.advance()
    return Inventory(
        source=Source.IMAGE_STREAMS,
        registry=registry,
        repositories=streams,
        manifests=images,
        blob_sizes=sizes,
    )


async def registry_hosts(cluster: Cluster) -> tuple[str, ...] | None:
    """The names of the registry by its streams, most used first; None without ImageStreams."""
    kinds = {(one.group, one.plural): one for one in await cluster.kinds()}
    if STREAMS not in kinds:
        return None
    counts: dict[str, int] = {}
    for document in await _all(cluster, kinds[STREAMS]):
        status = document.get("status") or {}
        for field in ("dockerImageRepository", "publicDockerImageRepository"):
            host, slash, _ = str(status.get(field) or "").partition("/")
            if slash:
                counts[host] = counts.get(host, 0) + 1
    return tuple(sorted(counts, key=lambda host: (-counts[host], host)))


async def names(cluster: Cluster) -> tuple[str, ...]:
    """Of every ImageStream."""
    kinds = {(one.group, one.plural): one for one in await cluster.kinds()}
    if STREAMS not in kinds:
        return ()
    return tuple(sorted(await repositories(cluster, kinds[STREAMS])))


async def repositories(
    cluster: Cluster, resource: Untyped, limits: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Repository]:
    """Every ImageStream by its name."""
    found = (repository(one, limits) for one in await _all(cluster, resource))
    return {stream.name: stream for stream in found}


async def _all(cluster: Cluster, resource: Untyped) -> list[dict[str, Any]]:
    return [one async for one, _ in _walked_again(cluster, resource) if one is not None]


async def _walked_again(cluster: Cluster, resource: Untyped) -> Any:
    """Every object; a list that expired is walked again from the start, what was seen included."""
    for _ in range(observe.WALKS_MAX - 1):
        try:
            async for one in observe.walked(cluster, resource):
                yield one
        except kube.Gone:
            continue
        return
    async for one in observe.walked(cluster, resource, limit=0):
        yield one


def repository(document: Mapping[str, Any], limits: Mapping[str, int]) -> Repository:
    metadata = document.get("metadata") or {}
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    status = document.get("status") or {}
    return Repository(
        name=f"{namespace}/{name}",
        tags=tuple(_tag(one) for one in status.get("tags") or ()),
        created_at=extraction.instant(metadata.get("creationTimestamp") or ""),
        resource_version=metadata.get("resourceVersion", ""),
        size_limit_bytes=limits.get(namespace),
    )


def _tag(document: Mapping[str, Any]) -> Tag:
    items = document.get("items") or ()
    return Tag.of(
        document.get("tag", ""),
        tuple(
            Revision(item.get("image", ""), extraction.instant(item.get("created") or ""))
            for item in items
        ),
    )


def image(
    document: Mapping[str, Any], sizes: dict[str, int], shared: dict[str, str]
) -> InventoryManifest:
    """`shared` holds one text for each digest, since many images have the same layers."""
    metadata = document.get("metadata") or {}
    details = document.get("dockerImageMetadata") or {}
    digest = metadata.get("name", "")
    layers = [one for one in document.get("dockerImageLayers") or () if one.get("name")]
    for layer in layers:
        sizes[shared.setdefault(layer["name"], layer["name"])] = int(layer.get("size") or 0)
    config = _digest(details.get("Id")) if not document.get("dockerImageManifests") else ""
    blobs = dict.fromkeys(shared[layer["name"]] for layer in layers)
    if config:
        blobs[shared.setdefault(config, config)] = None
    annotations = metadata.get("annotations") or {}
    created = extraction.instant(metadata.get("creationTimestamp") or "")
    return InventoryManifest(
        digest=digest,
        children=tuple(one["digest"] for one in document.get("dockerImageManifests") or ()),
        blobs=tuple(blobs),
        size_bytes=int(details.get("Size") or 0),
        is_managed=annotations.get(MANAGED) == "true",
        pushed_at=created,
        created_at=_built(details) or created,
    )


def _digest(text: object) -> str:
    return text if isinstance(text, str) and text.startswith("sha256:") else ""


def _built(details: Mapping[str, Any]) -> datetime | None:
    created = details.get("Created")
    return extraction.instant(created) if isinstance(created, str) else None


async def _limits(cluster: Cluster, resource: Untyped | None) -> dict[str, int]:
    """For each namespace the smallest image size that its LimitRanges allow."""
    found: dict[str, int] = {}
    for document in await _all(cluster, resource) if resource else ():
        namespace = document["metadata"].get("namespace", "")
        for limit in (document.get("spec") or {}).get("limits") or ():
            most = (limit.get("max") or {}).get("storage")
            if limit.get("type") != _IMAGE_LIMIT or most is None:
                continue
            try:
                size = int(quantities.parse(str(most)))
            except Malformed:
                continue  # the API server does not store such a quantity
            found[namespace] = min(size, found.get(namespace, size))
    return found
