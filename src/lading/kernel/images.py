"""An image that a node should have, and its manifest and layers on a platform."""

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
        """The registry in the reference, also if a mirror serves the image."""
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
    """The manifest and the layers of an image on a platform."""

    manifest: str
    """`repository@digest` of the manifest for that platform."""
    layers: tuple[Layer, ...]

    @property
    def size_bytes(self) -> int:
        return sum(layer.size_bytes for layer in self.layers)
