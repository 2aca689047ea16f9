"""Pulls one image: find the manifest for the platform, check the space, fetch, record.

The image is visible only after the last step. A pull that is interrupted leaves blobs that the
next pull uses.
"""

import asyncio

from lading.embedded.cri.content import Blob, ContentStore
from lading.embedded.cri.records import Records, StoredImage
from lading.kernel import manifests
from lading.kernel.errors import Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import cri, platform_image
from lading.ports import registry as registry_port
from lading.ports.platform_image import PlatformImage
from lading.ports.registry import Registry

DOWNLOADS_PER_PULL_MAX = 3  # containerd's max_concurrent_downloads


async def pull(
    reference: Reference,
    *,
    handler: str,
    platform: Platform,
    registry: Registry,
    content: ContentStore,
    records: Records,
) -> str:
    """Returns the image ID. The reference has a registry, and a tag or a digest."""
    found = await platform_image.find(
        registry, reference, platform, for_guest=bool(handler), keep_content=True
    )
    with content.lease(_blobs(found)):
        _require_space(content, records)
        await _fetch(registry, reference, found, content)
        config = manifests.parse_config(content.read(found.image.config.digest))
        stored = StoredImage(
            id=str(found.image.config.digest),
            handler=handler,
            manifest=found.walked[-1].digest,
            media_type=found.walked[-1].media_type,
            manifest_bytes=len(found.walked[-1].content),
            size_bytes=sum(blob.size_bytes for blob in set(_blobs(found))),
            user=config.user,
        )
        names = {str(reference), str(reference.at(found.named_digest))}
        records.add(stored, names=names, blobs={blob.digest for blob in _blobs(found)})
    return stored.id


def _blobs(found: PlatformImage) -> tuple[Blob, ...]:
    walked = (Blob(digest=one.digest, size_bytes=len(one.content)) for one in found.walked)
    return (*walked, *(_blob(descriptor) for descriptor in found.image.blobs))


def _blob(descriptor: Descriptor) -> Blob:
    return Blob(digest=descriptor.digest, size_bytes=descriptor.size_bytes)


def _require_space(content: ContentStore, records: Records) -> None:
    try:
        content.require_space()
    except cri.NoSpace:
        content.sweep(records.blobs())
        content.require_space()


async def _fetch(
    registry: Registry, reference: Reference, found: PlatformImage, content: ContentStore
) -> None:
    if found.image.config.size_bytes > manifests.CONFIG_BYTES_MAX:
        limit = manifests.CONFIG_BYTES_MAX
        raise cri.ContentRejected(f"the configuration is larger than {limit} bytes")
    for manifest in found.walked:
        blob = Blob(digest=manifest.digest, size_bytes=len(manifest.content))
        await content.put(blob, manifest.content)
    slots = asyncio.Semaphore(DOWNLOADS_PER_PULL_MAX)

    async def fetch(descriptor: Descriptor) -> None:
        async with slots:
            await content.fetch(
                _blob(descriptor),
                lambda offset: registry.blob(reference, descriptor, offset=offset),
            )

    distinct = {descriptor.digest: descriptor for descriptor in found.image.blobs}
    async with asyncio.TaskGroup() as tasks:
        for descriptor in distinct.values():
            tasks.create_task(fetch(descriptor))


def translated(error: BaseException, image: str) -> cri.CriError:
    """The error of a registry or a manifest as an error of the runtime."""
    if isinstance(error, BaseExceptionGroup):
        return translated(error.exceptions[0], image)
    kind: type[cri.CriError]
    match error:
        case cri.CriError():
            kind = type(error)
        case registry_port.NotFound():
            kind = cri.ImageNotFound
        case registry_port.Unauthorized() | registry_port.Denied() | registry_port.Blocked():
            kind = cri.Unauthorized
        case registry_port.NoMatchingPlatform():
            kind = cri.NoMatchingPlatform
        case registry_port.Transient():
            kind = cri.RegistryUnavailable
        case registry_port.RegistryError() | Malformed():
            kind = cri.ContentRejected
        case _:
            raise error
    return kind(str(error), image=image)
