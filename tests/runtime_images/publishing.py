"""Puts small images of several platforms into a registry, over the port that clients use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lading.embedded import sample_images
from lading.kernel import platforms, references
from lading.ports.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    registry: Registry
    host: str

    async def index(self, name: str, layers: Mapping[str, Sequence[bytes]]) -> str:
        """An index with one image for each platform; returns its reference by tag."""
        images = [
            sample_images.image(
                [{"content": content} for content in contents], platform=platforms.parse(platform)
            )
            for platform, contents in layers.items()
        ]
        tag = f"{self.host}/{name}"
        reference = references.parse(tag)
        await sample_images.push(self.registry, reference, sample_images.index(images))
        return tag
