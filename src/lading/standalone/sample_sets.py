"""A PinnedImageSet for the workers, as the demo and a first try of `lading up` apply one."""

from collections.abc import Iterable
from typing import Any

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS


def set_of(name: str, images: Iterable[str]) -> dict[str, Any]:
    return {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {"name": name, "labels": {group.ROLE_LABEL: "worker"}},
        "spec": {"pinnedImages": [{"name": image} for image in images]},
    }
