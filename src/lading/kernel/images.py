"""An image as it is wanted on a node, and what it is made of on a platform."""

from typing import NamedTuple

import msgspec


class ImageKey(NamedTuple):
    """An image by its reference, for one runtime handler ("" is the node's default)."""

    image: str
    runtime_handler: str = ""

    def __str__(self) -> str:
        return f"{self.image} for {self.runtime_handler}" if self.runtime_handler else self.image

    @property
    def registry(self) -> str:
        """As the image names it; a mirror of it counts as the same."""
        return self.image.partition("/")[0]

    @property
    def repository(self) -> str:
        """With its registry, of an image that is named by digest."""
        return self.image.partition("@")[0]


class Layer(NamedTuple):
    digest: str
    """As text, because a node compares tens of thousands of them in every reconcile."""
    size_bytes: int


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What an image means on a platform: its manifest, and the layers that it brings."""

    manifest: str
    """`repository@digest` of the manifest for that platform."""
    layers: tuple[Layer, ...]

    @property
    def size_bytes(self) -> int:
        return sum(layer.size_bytes for layer in self.layers)
