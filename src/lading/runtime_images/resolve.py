"""Finds, in the registry, the one manifest of an image that runs on a guest platform."""

from lading.kernel import manifests, platforms
from lading.kernel.manifests import ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports import platform_image
from lading.ports.registry import NoMatchingPlatform, Registry
from lading.runtime_images.errors import NoImageForGuest


async def manifest_for(registry: Registry, reference: Reference, platform: Platform) -> Reference:
    """The reference by the digest of a manifest; an image that cannot run there is refused."""
    try:
        found = await platform_image.find(registry, reference, platform)
    except NoMatchingPlatform as error:
        raise NoImageForGuest(str(error)) from error
    is_declared = len(found.walked) > 1 and found.platform_is_proven
    if not is_declared:
        await _require_platform(registry, reference, found.image, platform)
    return reference.at(found.digest)


async def _require_platform(
    registry: Registry, reference: Reference, image: ImageManifest, platform: Platform
) -> None:
    """Where no index says for which platform the image is, the image itself must."""
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
