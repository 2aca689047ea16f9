"""The objects of a large fleet, as large as they are in real life."""

from typing import Any

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel.digests import Digest

IMAGES_LISTED = 20  # a kubelet lists up to 50 in its Node's status
TIME = "2026-01-01T00:00:00Z"


def node_name(number: int) -> str:
    return f"node-{number:05}.region-1.example.com"


def node(number: int) -> dict[str, Any]:
    name = node_name(number)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/worker": "",
        "node.kubernetes.io/instance-type": "large",
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": f"region-1{'abc'[number % 3]}",
    }
    annotations = {
        "node.alpha.kubernetes.io/ttl": "300",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        "csi.volume.kubernetes.io/nodeid": f'{{"driver.example.com":"i-{number:017x}"}}',
    }
    conditions = [
        {
            "type": type_,
            "status": "True" if type_ == "Ready" else "False",
            "reason": f"KubeletHas{type_}",
            "message": f"kubelet reports on {type_}",
            "lastHeartbeatTime": TIME,
            "lastTransitionTime": TIME,
        }
        for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [{"names": [image(one)], "sizeBytes": 1 << 27} for one in range(IMAGES_LISTED)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {"conditions": conditions, "images": images},
    }


def image(number: int) -> str:
    digest = Digest.of(str(number).encode())
    return f"registry.example.com/platform/component-{number:04}@{digest}"


def set_name(number: int) -> str:
    return f"release-4.19-part-{number:02}"


def image_set(number: int, images: int) -> dict[str, Any]:
    names = [image(number * images + one) for one in range(images)]
    return {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {"name": set_name(number), "labels": {group.ROLE_LABEL: "worker"}},
        "spec": {"pinnedImages": [{"name": name} for name in names]},
    }


def report(name: str, sets: list[PinnedImageSet], *, is_done: bool) -> dict[str, Any]:
    """The status that an agent writes: once while it pulls, once when all is pinned."""
    entries = [
        {
            "name": one.metadata.name,
            "uid": one.metadata.uid,
            "desiredGeneration": one.metadata.generation,
            **({"currentGeneration": one.metadata.generation} if is_done else {}),
        }
        for one in sets
    ]
    progress = "All pinned image sets complete" if is_done else "12 of 1000 images are on the node"
    return {
        "apiVersion": MACHINE_CONFIG_NODES.api_version,
        "kind": MACHINE_CONFIG_NODES.kind,
        "metadata": {"name": name},
        "status": {
            "observedGeneration": 1,
            "pinnedImageSets": entries,
            "conditions": [
                _condition("PinnedImageSetsProgressing", not is_done, progress),
                _condition("PinnedImageSetsDegraded", False, "No errors"),
            ],
        },
    }


def _condition(type_: str, is_true: bool, message: str) -> dict[str, Any]:
    return {
        "type": type_,
        "status": "True" if is_true else "False",
        "reason": "ImagePrefetch" if is_true else "AsExpected",
        "message": message,
        "lastTransitionTime": TIME,
        "observedGeneration": 1,
    }
