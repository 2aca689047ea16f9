"""How many bytes removing an image really frees: layers that other images need stay.

Where the runtime does not tell the layers, the size that it reports stands in for them; that is
what the kubelet counts, and it is too much when layers are shared.
"""

from collections import Counter
from collections.abc import Mapping

from lading.kernel.digests import Digest
from lading.ports.cri import Image
from lading.runtime_images.types import ImageKey, Layer, key_of


class LayerLedger:
    """Counts the images that need each layer, while images are taken away one after another."""

    def __init__(self, layers: Mapping[ImageKey, tuple[Layer, ...]]) -> None:
        self._layers = layers
        self._needed_by = Counter(
            digest for held in layers.values() for digest in {layer.digest for layer in held}
        )

    def take(self, image: Image) -> int:
        """Removes the image from the count; returns the bytes that nobody needs any more."""
        held = self._layers.get(key_of(image))
        if held is None:
            return image.size_bytes
        sizes = {layer.digest: layer.size_bytes for layer in held}
        return sum(size for digest, size in sizes.items() if self._is_last(digest))

    def _is_last(self, digest: Digest) -> bool:
        self._needed_by[digest] -= 1
        return self._needed_by[digest] == 0
