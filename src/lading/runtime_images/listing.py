"""The runtime's list of images, brought to one entry for each pair."""

from collections.abc import Iterable
from dataclasses import replace

from lading.ports.cri import Image
from lading.runtime_images.types import ImageKey, key_of


def merged(images: Iterable[Image]) -> tuple[Image, ...]:
    """Sorted by key; an entry has all names of its pair, and is pinned when any of them is."""
    by_key: dict[ImageKey, Image] = {}
    for image in images:
        other = by_key.get(key_of(image))
        by_key[key_of(image)] = image if other is None else _merge(other, image)
    return tuple(by_key[key] for key in sorted(by_key))


def _merge(one: Image, other: Image) -> Image:
    return replace(
        one,
        repo_tags=tuple(dict.fromkeys(one.repo_tags + other.repo_tags)),
        repo_digests=tuple(dict.fromkeys(one.repo_digests + other.repo_digests)),
        pinned=one.pinned or other.pinned,
    )
