"""Reads the inventory of a cluster with ImageStreams: streams, Images and image size limits."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import Cluster, Untyped
from lading.pruning.engine import registry_url
from lading.pruning.engine.inventory.manifest_table import InventoryManifest, ManifestTable
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.references import extraction, observe
from lading.pruning.engine.types import Inventory, Repository, Revision, Source, Tag

STREAMS = ("image.openshift.io", "imagestreams")
IMAGES = ("image.openshift.io", "images")
LIMIT_RANGES = ("", "limitranges")
EXPIRIES_MAX = 100  # each after 5 minutes, by the default of etcd's compaction
MANAGED = "openshift.io/image.managed"
IMAGE_CONFIGS: Untyped = Resource(
    group="config.openshift.io",
    version="v1",
    kind="Image",
    plural="images",
    namespaced=False,
    type=dict,
)
IMAGE_CONFIG = "cluster"
_IMAGE_LIMIT = "openshift.io/Image"


class NoImageStreams(Exception):
    """The cluster does not serve ImageStreams."""


async def inventory(cluster: Cluster, registry: str, progress: PruneProgress) -> Inventory:
    """Reads streams first: then an Image that is pushed meanwhile is not deleted."""
    kinds = {(one.group, one.plural): one for one in await cluster.kinds()}
    if STREAMS not in kinds or IMAGES not in kinds:
        raise NoImageStreams(
            "the cluster has no ImageStreams (image.openshift.io); to prune a registry, set"
            " --registry-url and --source=registry"
        )
    limits = await _limits(cluster, kinds.get(LIMIT_RANGES))
    streams = await repositories(cluster, kinds[STREAMS], limits)
    images = ManifestTable()
    progress.begin("reading Images")
    async for document in _images(cluster, kinds[IMAGES]):
        images.add(image(document))
        images.add_sizes(layer_sizes(document))
        progress.advance()
    return Inventory(
        source=Source.IMAGE_STREAMS,
        registry=registry,
        repositories=streams,
        manifests=images,
    )


async def registry_hosts(cluster: Cluster) -> tuple[str, ...] | None:
    """The names of the registry by its streams, most used first; None without ImageStreams."""
    kinds = {(one.group, one.plural): one for one in await cluster.kinds()}
    if STREAMS not in kinds:
        return None
    counts: dict[str, int] = {}
    async for document in _walked_again(cluster, kinds[STREAMS]):
        status = document.get("status") or {}
        for field in ("dockerImageRepository", "publicDockerImageRepository"):
            host, slash, _ = str(status.get(field) or "").partition("/")
            if slash:
                counts[host] = counts.get(host, 0) + 1
    return tuple(sorted(counts, key=lambda host: (-counts[host], host)))


async def integrated_hosts(cluster: Cluster) -> tuple[str, ...]:
    """The hosts of the cluster's own registry, from the image config, which its operator writes.

    ImageStreams do not prove it: without such a registry, the API server copies the users'
    `spec.dockerImageRepository` to the status.
    """
    try:
        config = await cluster.get(IMAGE_CONFIGS, IMAGE_CONFIG)
    except (kube.NotFound, kube.Forbidden):
        return ()
    status = config.get("status") or {}
    external = status.get("externalRegistryHostnames") or ()
    named = (status.get("internalRegistryHostname"), *external)
    return tuple(dict.fromkeys(filter(_is_host, named)))


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
    found = [repository(one, limits) async for one in _walked_again(cluster, resource)]
    return {stream.name: stream for stream in found}


async def _walked_again(cluster: Cluster, resource: Untyped) -> AsyncIterator[dict[str, Any]]:
    """Every object. An expired list starts again, and repeats objects."""
    for walk in range(1, observe.WALKS_MAX + 1):
        limit = 0 if walk == observe.WALKS_MAX else observe.PAGE_OBJECTS
        try:
            async for one, _ in observe.walked(cluster, resource, limit=limit):
                if one is not None:
                    yield one
        except kube.Gone:
            if walk == observe.WALKS_MAX:
                raise
            continue
        return


async def _images(cluster: Cluster, resource: Untyped) -> AsyncIterator[dict[str, Any]]:
    """Every Image, page by page, because one large answer would not fit into memory.

    An expired list continues where the server says. It may miss new Images, but an Image that is
    not read is not deleted.
    """
    token = ""
    for _ in range(EXPIRIES_MAX):
        try:
            async for one, _ in observe.walked(cluster, resource, token=token):
                if one is not None:
                    yield one
        except kube.Gone as error:
            token = error.continue_token
            continue
        return
    raise kube.Gone(f"the list of {resource.plural} expired {EXPIRIES_MAX} times")


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


def image(document: Mapping[str, Any]) -> InventoryManifest:
    metadata = document.get("metadata") or {}
    details = document.get("dockerImageMetadata") or {}
    config = _digest(details.get("Id")) if not document.get("dockerImageManifests") else ""
    blobs = dict.fromkeys((*layer_sizes(document), *([config] if config else ())))
    annotations = metadata.get("annotations") or {}
    created = extraction.instant(metadata.get("creationTimestamp") or "")
    return InventoryManifest(
        digest=metadata.get("name", ""),
        children=tuple(one["digest"] for one in document.get("dockerImageManifests") or ()),
        blobs=tuple(blobs),
        size_bytes=int(details.get("Size") or 0),
        is_managed=annotations.get(MANAGED) == "true",
        pushed_at=created,
        created_at=_built(details) or created,
    )


def layer_sizes(document: Mapping[str, Any]) -> dict[str, int]:
    layers = document.get("dockerImageLayers") or ()
    return {one["name"]: int(one.get("size") or 0) for one in layers if one.get("name")}


def _is_host(text: object) -> bool:
    try:
        return isinstance(text, str) and registry_url.parse(text).host == text
    except Malformed:
        return False


def _digest(text: object) -> str:
    return text if isinstance(text, str) and text.startswith("sha256:") else ""


def _built(details: Mapping[str, Any]) -> datetime | None:
    created = details.get("Created")
    return extraction.instant(created) if isinstance(created, str) else None


async def _limits(cluster: Cluster, resource: Untyped | None) -> dict[str, int]:
    """The smallest image size limit of each namespace, from its LimitRanges."""
    found: dict[str, int] = {}
    if resource is None:
        return found
    async for document in _walked_again(cluster, resource):
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
