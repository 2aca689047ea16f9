"""How images are held: as image volumes, or by containers of the images. Pure.

With an image volume nothing of the image runs, so it is preferred. There is one DaemonSet for all
nodes, so one node that cannot mount image volumes decides for every node.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from lading.api.core import NodeSystemInfo
from lading.kernel import conditions

KUBELET_MIN = (1, 35)
"""The first release with the feature gate ImageVolume on by default; 1.36 locks it."""
RUNTIME_MIN = {"containerd": (2, 1), "cri-o": (1, 31), "lading": (0, 0)}
"""The first releases that mount image volumes; `lading` is a node of `lading up`."""
_SHOWN = {"containerd": "containerd", "cri-o": "CRI-O", "lading": "lading"}
_NEEDED = "image volumes need containerd 2.1 or CRI-O 1.31"
_NUMBERS = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)")


class HoldingWay(StrEnum):
    """How images are held; the reason of condition HeldAsImageVolume."""

    IMAGE_VOLUMES = "ImageVolumes"
    """A container of Lading's own image mounts the image; nothing of the image runs."""
    CONTAINERS = "Containers"
    """A container of the image itself runs a program of Lading that waits."""


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    way: HoldingWay = HoldingWay.IMAGE_VOLUMES
    message: str = ""
    """One sentence for users."""
    recheck_at: datetime | None = None


def obstacle(info: NodeSystemInfo) -> str:
    """Why a node cannot mount image volumes; empty if it can or has not reported yet."""
    if not info.kubelet_version or not info.container_runtime_version:
        return ""
    if _numbers(info.kubelet_version) < KUBELET_MIN:
        needed = ".".join(map(str, KUBELET_MIN))
        return f"kubelet {info.kubelet_version}; image volumes need {needed}"
    name, _, version = info.container_runtime_version.partition("://")
    if name not in RUNTIME_MIN:
        return f"the container runtime {info.container_runtime_version}; {_NEEDED}"
    if _numbers(version) < RUNTIME_MIN[name]:
        needed = ".".join(map(str, RUNTIME_MIN[name]))
        return f"{_SHOWN[name]} {version}; image volumes need {needed}"
    return ""


def _numbers(version: str) -> tuple[int, int]:
    """A version that cannot be read counts as old."""
    found = _NUMBERS.match(version)
    return (int(found["major"]), int(found["minor"])) if found else (-1, -1)


def decide(
    found: HoldingWay | None,
    *,
    refusal: str,
    obstacles: Mapping[str, str],
    without_obstacle_since: datetime | None,
    now: datetime,
    settle: timedelta,
) -> Holding:
    """`found` is the way of the existing DaemonSet, `refusal` the error of the API server.

    The change to containers happens at once, because the old node holds nothing until then. The
    change back waits until no old node has been seen for a while.
    """
    if refusal:
        return _by_containers(refusal)
    if obstacles:
        name = min(obstacles)
        others = f" {len(obstacles) - 1} more nodes are too old." if len(obstacles) > 1 else ""
        return _by_containers(f"{name} has {obstacles[name]}.{others}")
    until = without_obstacle_since and without_obstacle_since + settle
    if found is HoldingWay.CONTAINERS and until is not None and now < until:
        why = f"until {conditions.timestamp(until)}, because an older node may come back."
        return Holding(
            way=HoldingWay.CONTAINERS,
            message=f"Images are held by containers {why}",
            recheck_at=until,
        )
    return Holding(message="Images are held as image volumes.")


def _by_containers(why: str) -> Holding:
    message = f"Images are held by containers: {why}"
    return Holding(way=HoldingWay.CONTAINERS, message=message)
