"""Which images the containers use, by image and runtime handler. Pure.

A container protects the image it runs and the images it mounts. When its image is not listed for
its handler, every image of that name is protected, for any handler: a doubt keeps an image.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from lading.ports.cri import Container, Image
from lading.runtime_images import images as node_images
from lading.runtime_images.types import LocalImageId, local_id


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    users: Mapping[LocalImageId, tuple[str, ...]]
    """For every image in use, the containers that use it, in words."""
    unresolved: tuple[str, ...]
    """Containers that name no image; each may need any image."""


def usage(images: Iterable[Image], containers: Iterable[Container]) -> Usage:
    by_name = _images_by_name(images)
    users: dict[LocalImageId, list[str]] = defaultdict(list)
    unresolved = []
    for container in containers:
        running = _running(by_name, container)
        # One that has an ID which is not listed runs an image that was removed under it.
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
    """By the ID, or by the name where the ID is missing or means nothing here."""
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
