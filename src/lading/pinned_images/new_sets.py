"""PinnedImageSets for a list of images: each image once, sets of at most 500 images. Pure."""

import re
from collections.abc import Iterable
from typing import Any

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import (
    IMAGES_PER_SET_MAX,
    PINNED_IMAGE_SETS,
)
from lading.kernel.errors import Malformed

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_ROLE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NAME_CHARACTERS_MAX = group.NAME_LENGTH_MAX - len("-99")


def new_sets(name: str, images: Iterable[str], *, role: str) -> tuple[dict[str, Any], ...]:
    """The first has the name; more are `NAME-2`, `NAME-3`, so a longer list renames none."""
    check_names(name, role)
    ordered = sorted(set(images))
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
            "spec": {"pinnedImages": [{"name": image} for image in part]},
        }
        for number, part in enumerate(parts, start=1)
    )


def check_names(name: str, role: str) -> None:
    """As the API server checks the name of an object and the value of a label."""
    if len(name) > _NAME_CHARACTERS_MAX or not _NAME.fullmatch(name):
        reason = "expected at most 250 lower-case letters, digits, '-' and '.'"
        raise Malformed(what="name of a set", text=name, reason=reason)
    if not _ROLE.fullmatch(role):
        reason = "expected at most 63 letters, digits, '-', '_' and '.'"
        raise Malformed(what="role", text=role, reason=reason)
