"""What an edit of sets would add to their nodes and free there, image by image. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.images import ImageKey, Layer, Resolution


class PinnedFor(NamedTuple):
    """An image of a set, for one runtime class ("" is the node's default)."""

    image: str
    runtime_class: str = ""

    def __str__(self) -> str:
        return f"{self.image} for {self.runtime_class}" if self.runtime_class else self.image


class StillPinned(NamedTuple):
    image: PinnedFor
    by_sets: tuple[str, ...]


class SetDiff(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    is_new: bool
    added: tuple[PinnedFor, ...]
    freed: tuple[PinnedFor, ...]
    """Of no other set: the kubelet may remove them."""
    still_pinned: tuple[StillPinned, ...]
    """The set loses them, and others have them."""

    @property
    def changes_nothing(self) -> bool:
        return not (self.added or self.freed or self.still_pinned)


def diffs(before: Iterable[PinnedImageSet], edited: Iterable[PinnedImageSet]) -> list[SetDiff]:
    old = {one.metadata.name: _images(one) for one in before}
    new = old | {one.metadata.name: _images(one) for one in edited}
    return [_diff(one.metadata.name, old, new) for one in edited]


def _diff(
    name: str,
    old: Mapping[str, frozenset[PinnedFor]],
    new: Mapping[str, frozenset[PinnedFor]],
) -> SetDiff:
    had = old.get(name, frozenset())
    removed = sorted(had - new[name])
    owners = {image: _owners(image, new) for image in removed}
    return SetDiff(
        name=name,
        is_new=name not in old,
        added=tuple(sorted(new[name] - had)),
        freed=tuple(image for image in removed if not owners[image]),
        still_pinned=tuple(StillPinned(one, owners[one]) for one in removed if owners[one]),
    )


def _owners(image: PinnedFor, sets: Mapping[str, frozenset[PinnedFor]]) -> tuple[str, ...]:
    return tuple(sorted(name for name, images in sets.items() if image in images))


def _images(image_set: PinnedImageSet) -> frozenset[PinnedFor]:
    return frozenset(
        PinnedFor(image.name, runtime_class)
        for image in image_set.spec.pinned_images
        for runtime_class in image.runtime_class_names or ("",)
    )


class Sizes(NamedTuple):
    added_bytes: int
    freed_bytes: int
    unknown: tuple[str, ...]
    """Images of unknown size, which are not counted."""


def images_of(sets: Iterable[PinnedImageSet]) -> frozenset[ImageKey]:
    return frozenset(ImageKey(image.image) for one in sets for image in _images(one))


def sizes(
    before: Iterable[PinnedImageSet],
    edited: Iterable[PinnedImageSet],
    found: Iterable[SetDiff],
    resolutions: Mapping[ImageKey, Resolution],
) -> Sizes:
    """Layers that images share count once; those of images that stay are neither."""
    edited, found = tuple(edited), tuple(found)
    names = {one.metadata.name for one in edited}
    old = _layers(images_of(one for one in before if one.metadata.name in names), resolutions)
    new = _layers(images_of(edited), resolutions)
    added = _layers((ImageKey(one.image) for diff in found for one in diff.added), resolutions)
    freed = _layers((ImageKey(one.image) for diff in found for one in diff.freed), resolutions)
    changed = {one.image for diff in found for one in (*diff.added, *diff.freed)}
    return Sizes(
        added_bytes=sum(layer.size_bytes for layer in added - old),
        freed_bytes=sum(layer.size_bytes for layer in freed - new),
        unknown=tuple(sorted(one for one in changed if ImageKey(one) not in resolutions)),
    )


def _layers(keys: Iterable[ImageKey], resolutions: Mapping[ImageKey, Resolution]) -> set[Layer]:
    known = (resolutions[key] for key in keys if key in resolutions)
    return {layer for resolution in known for layer in resolution.layers}
