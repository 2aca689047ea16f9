"""New sets for a list of images, and the images that an edit of sets adds and frees. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import (
    IMAGES_PER_SET_MAX,
    PINNED_IMAGE_SETS,
    PinnedImageSet,
)
from lading.kernel import references
from lading.kernel.errors import Malformed
from lading.kernel.images import ImageKey, Layer, Resolution
from lading.kernel.references import Reference

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_ROLE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NAME_CHARACTERS_MAX = group.NAME_LENGTH_MAX - len("-99")


def new_sets(name: str, images: Iterable[str], *, role: str) -> tuple[dict[str, Any], ...]:
    """Each image once, at most 500 in a set. Further sets are `NAME-2`, `NAME-3` and so on.

    `repository:tag@digest` is an image with a tag. All tags of an image are in its entry, without
    those that mean several images.
    """
    check_names(name, role)
    found = tuple(map(references.parse, images))
    several = ambiguous_tags(found)
    tags = _tags_by_image(one for one in found if (one.name, one.tag) not in several)
    tags |= {str(_by_digest(one)): set() for one in found if str(_by_digest(one)) not in tags}
    ordered = sorted(tags)
    parts = (
        ordered[begin : begin + IMAGES_PER_SET_MAX]
        for begin in range(0, len(ordered), IMAGES_PER_SET_MAX)
    )
    return tuple(
        {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {
                "name": name if number == 1 else f"{name}-{number}",
                "labels": {group.ROLE_LABEL: role},
            },
            "spec": {"pinnedImages": [_entry(image, tags[image]) for image in part]},
        }
        for number, part in enumerate(parts, start=1)
    )


def ambiguous_tags(images: Iterable[Reference]) -> set[tuple[str, str]]:
    """Tags with several digests, by repository: pods with one tag may run different images."""
    digests: dict[tuple[str, str], set[str]] = {}
    for one in images:
        if one.tag:
            digests.setdefault((one.name, one.tag), set()).add(str(one.digest))
    return {tag for tag, found in digests.items() if len(found) > 1}


def _tags_by_image(images: Iterable[Reference]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in images:
        found.setdefault(str(_by_digest(one)), set()).update({one.tag} if one.tag else ())
    return found


def _by_digest(image: Reference) -> Reference:
    assert image.digest is not None, "a set names images by digest"
    return image.at(image.digest)


def _entry(image: str, tags: set[str]) -> dict[str, Any]:
    return {"name": image, "tags": sorted(tags)} if tags else {"name": image}


def check_names(name: str, role: str) -> None:
    """The rules of the API server for the name of an object and the value of a label."""
    if len(name) > _NAME_CHARACTERS_MAX or not _NAME.fullmatch(name):
        reason = "expected at most 250 lower-case letters, digits, '-' and '.'"
        raise Malformed(what="name of a set", text=name, reason=reason)
    if not _ROLE.fullmatch(role):
        reason = "expected at most 63 letters, digits, '-', '_' and '.'"
        raise Malformed(what="role", text=role, reason=reason)


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
    """No other set has these images, so the kubelet may remove them."""
    still_pinned: tuple[StillPinned, ...]
    """The set loses these images, but other sets have them."""

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
    """Images of unknown size. They are not counted."""


def images_of(sets: Iterable[PinnedImageSet]) -> frozenset[ImageKey]:
    return frozenset(ImageKey(image.image) for one in sets for image in _images(one))


def sizes(
    before: Iterable[PinnedImageSet],
    edited: Iterable[PinnedImageSet],
    found: Iterable[SetDiff],
    resolutions: Mapping[ImageKey, Resolution],
) -> Sizes:
    """Shared layers count once. Layers of images that stay are neither added nor freed."""
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
