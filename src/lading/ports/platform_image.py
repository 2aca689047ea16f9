"""Finds, through the `Registry` port, the manifest of an image that runs on a platform.

Walks from what a reference names, through indexes, to one image. Fetches no layers, and leaves it
to the caller to look into the configuration of an image whose index does not say its platform.
"""

from dataclasses import dataclass

from lading.kernel import manifests, platforms
from lading.kernel.digests import Digest
from lading.kernel.manifests import ImageManifest
from lading.kernel.platforms import Platform
from lading.kernel.references import Reference
from lading.ports.registry import MalformedAnswer, Manifest, NoMatchingPlatform, Registry

INDEX_DEPTH_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformImage:
    """The manifests that were walked, the last one being the image's."""

    walked: tuple[Manifest, ...]
    image: ImageManifest
    platform_is_proven: bool

    @property
    def named_digest(self) -> Digest:
        """What the registry's tag points at: the index where there is one."""
        return self.walked[0].digest

    @property
    def digest(self) -> Digest:
        return self.walked[-1].digest


async def find(registry: Registry, reference: Reference, platform: Platform) -> PlatformImage:
    """Raises NoMatchingPlatform with what the index offers, besides what the port raises.

    A reference straight to one image is taken as it is: that is how a foreign one is asked for.
    """
    walked = [await registry.manifest(reference)]
    is_proven = True
    while len(walked) <= INDEX_DEPTH_MAX:
        document = manifests.parse(walked[-1].content, walked[-1].media_type)
        if isinstance(document, ImageManifest):
            return PlatformImage(walked=tuple(walked), image=document, platform_is_proven=is_proven)
        choice = platforms.select(document.manifests, platform)
        if isinstance(choice, platforms.NoMatch):
            raise NoMatchingPlatform(f"{reference}: {choice}")
        is_proven = choice.platform_is_declared
        walked.append(await registry.manifest(reference.at(choice.entry.digest)))
    raise MalformedAnswer(f"{reference}: indexes are nested deeper than {INDEX_DEPTH_MAX}")
