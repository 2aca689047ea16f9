"""Resolves an image for a platform through the `Registry` port.

It follows indexes from the reference to the manifest of one image. If the index does not declare
the platform, the image's configuration decides. It fetches no layers.
"""

import asyncio

import msgspec

from lading.kernel import manifests, platforms
from lading.kernel.digests import Digest
from lading.kernel.images import Layer, Resolution
from lading.kernel.manifests import ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports.registry import MalformedAnswer, Manifest, NoMatchingPlatform, Registry, TooLarge

INDEX_DEPTH_MAX = 3
LAYERS_MAX = 500  # what overlayfs takes


class PlatformImage(msgspec.Struct, frozen=True, kw_only=True):
    """The manifests on the way; the last one is the image's."""

    walked: tuple[Manifest, ...]
    """Without their content, unless it was asked for."""
    image: ImageManifest

    @property
    def named_digest(self) -> Digest:
        """The manifest that the tag points at: the index if there is one."""
        return self.walked[0].digest

    @property
    def digest(self) -> Digest:
        return self.walked[-1].digest


async def resolve(
    registry: Registry, reference: Reference, platform: Platform, *, for_guest: bool
) -> Resolution:
    """The manifest and the layers of the image; raises what `find` raises."""
    found = await find(registry, reference, platform, for_guest=for_guest)
    if len(found.image.layers) > LAYERS_MAX:
        raise TooLarge(f"{reference}: more than {LAYERS_MAX} layers; no runtime can mount it")
    return Resolution(
        manifest=str(reference.at(found.digest)),
        layers=tuple(Layer(str(blob.digest), blob.size_bytes) for blob in found.image.blobs),
    )


async def find(
    registry: Registry,
    reference: Reference,
    platform: Platform,
    *,
    for_guest: bool,
    keep_content: bool = False,
) -> PlatformImage:
    """Raises NoMatchingPlatform with what is offered instead, besides what the port raises.

    For the host, a reference straight to one manifest is taken as it is: that is how a foreign
    image is asked for, and real runtimes do the same. For the guests of a runtime handler it is
    refused unless they can run it. A document may be large, so it is released before the next
    request.
    """
    walked = [await registry.manifest(reference)]
    is_proof_needed = for_guest
    while len(walked) <= INDEX_DEPTH_MAX:
        # A large document takes time; between the steps it is the turn of others.
        await asyncio.sleep(0)
        document = manifests.parse(walked[-1].content, walked[-1].media_type)
        if not keep_content:
            walked[-1] = replace(walked[-1], content=b"")
        if isinstance(document, ImageManifest):
            if is_proof_needed:
                await _require_platform(registry, reference, document, platform)
            return PlatformImage(walked=tuple(walked), image=document)
        await asyncio.sleep(0)
        choice = platforms.select(document.manifests, platform)
        if isinstance(choice, platforms.NoMatch):
            raise NoMatchingPlatform(f"{reference}: {choice}")
        is_proof_needed = for_guest or not choice.platform_is_declared
        del document
        walked.append(await registry.manifest(reference.at(choice.entry.digest)))
    raise MalformedAnswer(f"{reference}: indexes are nested deeper than {INDEX_DEPTH_MAX}")


async def _require_platform(
    registry: Registry, reference: Reference, image: ImageManifest, platform: Platform
) -> None:
    """An image that declares no platform, such as an artifact, is for every platform."""
    if image.config.size_bytes > manifests.CONFIG_BYTES_MAX:
        limit = manifests.CONFIG_BYTES_MAX
        raise TooLarge(f"{reference}: the configuration is larger than {limit} bytes")
    content = b"".join([piece async for piece in registry.blob(reference, image.config)])
    offered = manifests.parse_config(content).platform
    refusal = platforms.refusal(platform, offered)
    if refusal is not None:
        raise NoMatchingPlatform(
            f"{reference}: no image for {platform}: it is {offered}: {refusal}"
        )
