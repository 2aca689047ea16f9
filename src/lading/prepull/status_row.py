"""One Image as `lading prepull status` and the dashboard show it. Pure."""

from enum import StrEnum
from typing import Any

from lading.api.longhorn import Image, ImageState
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.prepull.rules import DEPLOYED, HELD_AS_IMAGE_VOLUME

NOT_SEEN = "Not observed yet. The controller reads only Images in its own namespace."


class ImageRowReason(StrEnum):
    """In addition to the reasons of the status."""

    NOT_RECONCILED = "NotReconciled"
    """The controller has not observed the Image."""


def row(image: Image) -> dict[str, Any]:
    status = image.status
    condition = conditions.find(status.conditions, DEPLOYED)
    held_as = conditions.find(status.conditions, HELD_AS_IMAGE_VOLUME)
    is_held = held_as is not None and held_as.status is not Truth.UNKNOWN
    return {
        "namespace": image.metadata.namespace,
        "name": image.metadata.name,
        "url": image.spec.url,
        "state": status.state or ImageState.UNKNOWN.value,
        "deployedNodes": status.deployed_node_count,
        "nodes": status.node_count,
        "reason": condition.reason if condition else ImageRowReason.NOT_RECONCILED.value,
        "message": condition.message if condition else NOT_SEEN,
        "heldAs": held_as.reason if held_as and is_held else "",
        "heldAsMessage": held_as.message if held_as and is_held else "",
        "failures": [
            {"node": one.node, "reason": one.reason, "message": one.message}
            for one in status.failures
        ],
    }
