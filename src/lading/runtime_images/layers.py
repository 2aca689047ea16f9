"""How many bytes removing an image really frees: layers that other images need stay. Pure.

Where the runtime does not report the layers, the size that it reports stands in for them; that is
what the kubelet counts, and it is too much when layers are shared.
"""

from collections import Counter
from collections.abc import Mapping

from lading.kernel.images import Layer
from lading.ports.cri import Image
from lading.runtime_images.types import LocalImageId, local_id


class LayerCounter:
    """Counts the images that need each layer, while images are taken away one after another."""

    def __init__(self, layers: Mapping[LocalImageId, tuple[Layer, ...]]) -> None:
        self._layers = layers
        self._needed_by = Counter(
            digest for needed in layers.values() for digest in {layer.digest for layer in needed}
        )

    def take(self, image: Image) -> int:
        """Removes the image from the count; returns the bytes that no other image needs."""
        needed = self._layers.get(local_id(image))
        if needed is None:
            return image.size_bytes
        sizes = {layer.digest: layer.size_bytes for layer in needed}
        return sum(size for digest, size in sizes.items() if self._is_last(digest))

    def _is_last(self, digest: str) -> bool:
        self._needed_by[digest] -= 1
        return self._needed_by[digest] == 0
