"""The images that containers use, and the layers that images share. Pure.

A container protects the image that it runs and the images that it mounts. If its image is not
listed for its handler, it protects every image of that name, for any handler.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from lading.kernel.images import Layer
from lading.ports.cri import Container, Image
from lading.runtime_images import images as node_images
from lading.runtime_images.types import LocalImageId, local_id


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    users: Mapping[LocalImageId, tuple[str, ...]]
    """The containers that use each image, in words."""
    unresolved: tuple[str, ...]
    """Containers without a known image; each may need any image."""


def usage(images: Iterable[Image], containers: Iterable[Container]) -> Usage:
    by_name = _images_by_name(images)
    users: dict[LocalImageId, list[str]] = defaultdict(list)
    unresolved = []
    for container in containers:
        running = _running(by_name, container)
        # A container with an unlisted ID runs an image that was removed under it.
        if not running and not container.image_id:
            unresolved.append(_described(container))
        for image in sorted(running):
            users[image].append(f"run by {_described(container)}")
        for image in sorted(_mounted(by_name, container)):
            users[image].append(f"mounted by {_described(container)}")
    return Usage(
        users={image: tuple(words) for image, words in users.items()}, unresolved=tuple(unresolved)
    )


def _running(by_name: Mapping[str, set[LocalImageId]], container: Container) -> set[LocalImageId]:
    """By the ID, or by the name if the ID is missing or unknown."""
    handler = container.image.runtime_handler
    by_id = _named(by_name, container.image_id, handler=handler)
    return by_id or _named(by_name, container.image.image, handler=handler)


def _mounted(by_name: Mapping[str, set[LocalImageId]], container: Container) -> set[LocalImageId]:
    return set[LocalImageId]().union(
        *(
            _named(by_name, volume.image, handler=volume.runtime_handler)
            for volume in container.image_volumes
        )
    )


def _images_by_name(images: Iterable[Image]) -> Mapping[str, set[LocalImageId]]:
    found: dict[str, set[LocalImageId]] = defaultdict(set)
    for image in images:
        for name in node_images.names_of(image):
            found[name].add(local_id(image))
    return found


def _named(
    by_name: Mapping[str, set[LocalImageId]], name: str, *, handler: str
) -> set[LocalImageId]:
    spellings = node_images.spellings(name)
    named = set[LocalImageId]().union(*(by_name.get(text, ()) for text in spellings))
    exact = {image for image in named if image.runtime_handler == handler}
    return exact or named


def _described(container: Container) -> str:
    return f"container {container.name or container.id} ({container.state})"


class LayerCounter:
    """The bytes that the removal of each image frees, one image after the other.

    Layers that other images need stay. If the runtime reports no layers, the size of the image
    counts, as in the kubelet; that is too much if images share layers.
    """

    def __init__(self, layers: Mapping[LocalImageId, tuple[Layer, ...]]) -> None:
        self._layers = layers
        self._needed_by = Counter(
            digest for needed in layers.values() for digest in {layer.digest for layer in needed}
        )

    def take(self, image: Image) -> int:
        """Removes the image, and returns the bytes that no other image needs."""
        needed = self._layers.get(local_id(image))
        if needed is None:
            return image.size_bytes
        sizes = {layer.digest: layer.size_bytes for layer in needed}
        return sum(size for digest, size in sizes.items() if self._is_last(digest))

    def _is_last(self, digest: str) -> bool:
        self._needed_by[digest] -= 1
        return self._needed_by[digest] == 0
