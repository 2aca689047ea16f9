"""Finds, in the registry, the one manifest of an image that runs on a guest platform."""

from lading.kernel import manifests, platforms
from lading.kernel.manifests import ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports.registry import Registry
from lading.runtime_images.errors import NoImageForGuest

INDEX_DEPTH_MAX = 3


async def manifest_for(registry: Registry, reference: Reference, platform: Platform) -> Reference:
    """The reference by the digest of a manifest; a reference straight to one is taken as it is."""
    manifest = await registry.manifest(reference)
    is_proven = True
    for _ in range(INDEX_DEPTH_MAX + 1):
        document = manifests.parse(manifest.content, manifest.media_type)
        if isinstance(document, ImageManifest):
            if not is_proven:
                await _require_platform(registry, reference, document, platform)
            return reference.at(manifest.digest)
        choice = platforms.select(document.manifests, platform)
        if isinstance(choice, platforms.NoMatch):
            raise NoImageForGuest(f"{reference} cannot run there: {choice}")
        is_proven = choice.platform_is_declared
        manifest = await registry.manifest(reference.at(choice.entry.digest))
    raise NoImageForGuest(f"{reference} nests indexes deeper than {INDEX_DEPTH_MAX}")


async def _require_platform(
    registry: Registry, reference: Reference, image: ImageManifest, platform: Platform
) -> None:
    """For an entry whose index does not say its platform: the image itself must."""
    content = await _config(registry, reference, image)
    offered = manifests.parse_config(content).platform
    refusal = platforms.refusal(platform, offered)
    if refusal is not None:
        raise NoImageForGuest(f"{reference} cannot run on {platform}: it is {offered}: {refusal}")


async def _config(registry: Registry, reference: Reference, image: ImageManifest) -> bytes:
    if image.config.size_bytes > manifests.CONFIG_BYTES_MAX:
        limit = manifests.CONFIG_BYTES_MAX
        raise NoImageForGuest(f"the configuration of {reference} is larger than {limit} bytes")
    return b"".join([piece async for piece in registry.blob(reference, image.config)])
