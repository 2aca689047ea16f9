"""Pre-pull: the Images, and which worker nodes hold them. Rows of `lading prepull status`."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from lading.api.longhorn import Image, ImageState, Setting
from lading.prepull import status_row
from lading.web.views import wording
from lading.web.views.wording import ShownProblem, Urgency

_URGENCIES = {ImageState.ERROR.value: Urgency.ERROR}


def image_value(image: Image) -> dict[str, Any]:
    row = status_row.row(image)
    return {
        "namespace": row["namespace"],
        "name": row["name"],
        "url": wording.image(row["url"]),
        "state": wording.message(row["state"]),
        "held": row["deployedNodes"],
        "nodes": row["nodes"],
        "failed": image.status.failed_node_count,
        "reason": wording.message(row["reason"]),
        "message": wording.message(row["message"]),
    }


def image_detail(image: Image) -> dict[str, Any]:
    faults = {one.node: one for one in image.status.failures}
    names = sorted({*image.status.node_deployment_map, *faults})
    return {
        **image_value(image),
        "created": image.metadata.creation_timestamp,
        "map": [
            {
                "node": name,
                "held": image.status.node_deployment_map.get(name, False),
                "reason": wording.message(faults[name].reason) if name in faults else "",
                "message": wording.message(faults[name].message) if name in faults else "",
            }
            for name in names
        ],
    }


def problems(images: Iterable[Image]) -> list[ShownProblem]:
    """An Image with an error, or with a node that has one."""
    found = []
    for image in images:
        value = image_value(image)
        urgency = _URGENCIES.get(value["state"])
        if urgency is None and value["failed"]:
            urgency = Urgency.WARNING
        if urgency is not None:
            found.append(_problem(value, urgency))
    return found


def _problem(value: dict[str, Any], urgency: Urgency) -> ShownProblem:
    key = f"{value['namespace']}/{value['name']}"
    return ShownProblem(
        key=f"prepull/{key}",
        feature="prepull",
        urgency=urgency,
        title=f"Image {value['name']} is held by {value['held']} of {value['nodes']} nodes",
        detail=value["message"],
        command=wording.command("lading", "prepull", "status", "-n", value["namespace"]),
        purpose="Show the error of each node",
        link=f"#/prepull?{urlencode({'image': key})}",
    )


def summary(images: Iterable[Image], settings: Iterable[Setting]) -> tuple[str, str]:
    values = [image_value(one) for one in images]
    off = any(one.value == "false" for one in settings)
    if off:
        return "empty", "Setting start-pre-pull-manager-images is false: no image is held."
    if not values:
        return "empty", "There is no Image."
    deployed = sum(one["state"] == ImageState.DEPLOYED for one in values)
    failed = sum(one["state"] == ImageState.ERROR for one in values)
    text = f"Images that all worker nodes hold: {deployed} of {len(values)}."
    return ("error" if failed else "ok" if deployed == len(values) else "busy"), text
