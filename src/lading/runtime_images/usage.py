"""Which images the containers keep in use, by the pair of image and runtime handler.

A container protects the image it runs and the images it mounts. When the pair that it names is not
listed, every image of that name is protected, whatever its handler: a doubt keeps an image.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lading.ports.cri import Container, Image
from lading.runtime_images import names
from lading.runtime_images.types import ImageKey, key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    users: Mapping[ImageKey, tuple[str, ...]]
    """For every image in use, who uses it, in words."""
    unresolved: tuple[str, ...]
    """Containers that do not say which image they need; each may need any image."""


def usage(images: Iterable[Image], containers: Iterable[Container]) -> Usage:
    by_name = _keys_by_name(images)
    users: dict[ImageKey, list[str]] = defaultdict(list)
    unresolved = []
    for container in containers:
        running = _running(by_name, container)
        # One that has an ID which is not listed runs an image that was removed under it.
        if not running and not container.image_id:
            unresolved.append(_who(container))
        for key in sorted(running):
            users[key].append(f"run by {_who(container)}")
        for key in sorted(_mounted(by_name, container)):
            users[key].append(f"mounted by {_who(container)}")
    return Usage(
        users={key: tuple(who) for key, who in users.items()}, unresolved=tuple(unresolved)
    )


def _running(by_name: Mapping[str, set[ImageKey]], container: Container) -> set[ImageKey]:
    """By the ID, or by the name where the ID is missing or means nothing here."""
    handler = container.image.runtime_handler
    by_id = _keys(by_name, container.image_id, handler=handler)
    return by_id or _keys(by_name, container.image.image, handler=handler)


def _mounted(by_name: Mapping[str, set[ImageKey]], container: Container) -> set[ImageKey]:
    return set[ImageKey]().union(
        *(
            _keys(by_name, volume.image, handler=volume.runtime_handler)
            for volume in container.image_volumes
        )
    )


def _keys_by_name(images: Iterable[Image]) -> Mapping[str, set[ImageKey]]:
    found: dict[str, set[ImageKey]] = defaultdict(set)
    for image in images:
        for name in names.names_of(image):
            found[name].add(key_of(image))
    return found


def _keys(by_name: Mapping[str, set[ImageKey]], name: str, *, handler: str) -> set[ImageKey]:
    named = set[ImageKey]().union(*(by_name.get(text, ()) for text in names.spellings(name)))
    exact = {key for key in named if key.runtime_handler == handler}
    return exact or named


def _who(container: Container) -> str:
    return f"container {container.name or container.id} ({container.state})"
