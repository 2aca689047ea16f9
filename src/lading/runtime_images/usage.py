"""Which images the containers keep in use, by the pair of image and runtime handler.

A container protects the image it runs and the images it mounts. When the pair that it names is not
listed, every image of that name is protected, whatever its handler: a doubt keeps an image.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
        if not container.image_id and not _keys(by_name, container.image.image, handler=None):
            unresolved.append(_who(container))
        for name, handler, how in _needs(container):
            for key in sorted(_keys(by_name, name, handler=handler)):
                users[key].append(f"{how} {_who(container)}")
    return Usage(
        users={key: tuple(who) for key, who in users.items()}, unresolved=tuple(unresolved)
    )


def _needs(container: Container) -> Iterator[tuple[str, str, str]]:
    """(name, handler, how it is needed) of the image that runs and of each that is mounted."""
    running = container.image_id or container.image.image
    yield running, container.image.runtime_handler, "run by"
    for volume in container.image_volumes:
        yield volume.image, volume.runtime_handler, "mounted by"


def _keys_by_name(images: Iterable[Image]) -> Mapping[str, set[ImageKey]]:
    found: dict[str, set[ImageKey]] = defaultdict(set)
    for image in images:
        for name in names.names_of(image):
            found[name].add(key_of(image))
    return found


def _keys(by_name: Mapping[str, set[ImageKey]], name: str, *, handler: str | None) -> set[ImageKey]:
    named = set[ImageKey]().union(*(by_name.get(text, ()) for text in names.spellings(name)))
    exact = {key for key in named if key.runtime_handler == handler}
    return exact or named


def _who(container: Container) -> str:
    return f"container {container.name or container.id} ({container.state})"
