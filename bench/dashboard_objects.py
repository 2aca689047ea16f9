"""A cluster of any size for the dashboard, in memory: its objects, and changes of them.

The API server is left out, because it is not what is measured.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec

from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel.objects import Resource
from lading.ports import kube
from lading.ports.kube import EVERYTHING, EventType, Page, Selection, WatchEvent
from lading.web.following import SHOWN_NODES

T = TypeVar("T")
NODES_PER_FAILURE = 100
IMAGES_PER_SET = 20
IMAGES_PER_NODE = 50  # what a kubelet lists
POOLS = ("infra", "worker")
_ROLE = "example.com/pool"


def set_name(number: int) -> str:
    return f"release-{number:02d}"


def node_name(number: int) -> str:
    return f"node-{number:04d}.eu-west.example.com"


class LargeCluster:
    """A `Kube` that lists and watches; what it does not have is not served."""

    def __init__(self, *, nodes: int, sets: int) -> None:
        self.sets = sets
        self._revision = 1
        self._objects: dict[Resource[Any], dict[str, dict[str, Any]]] = {
            SHOWN_NODES: {node_name(one): _node(one) for one in range(nodes)},
            MACHINE_CONFIG_POOLS: {pool: _pool(pool, sets) for pool in POOLS},
            PINNED_IMAGE_SETS: {set_name(one): _image_set(one, nodes) for one in range(sets)},
            MACHINE_CONFIG_NODES: {node_name(one): _report(one, sets) for one in range(nodes)},
        }
        self._watches: dict[Resource[Any], list[asyncio.Queue[Any]]] = {}

    def change(self, number: int, *, present: int) -> None:
        """One set of one node is at `present` images of all."""
        report = self._objects[MACHINE_CONFIG_NODES][node_name(number)]
        entry = report["status"]["pinnedImageSets"][0]
        entry |= {"currentGeneration": 0, "presentImageCount": present}
        self._revision += 1
        report["metadata"]["resourceVersion"] = str(self._revision)
        for queue in self._watches.get(MACHINE_CONFIG_NODES, ()):
            queue.put_nowait(msgspec.json.encode(report))

    async def page(
        self, resource: Resource[T], selection: Selection = EVERYTHING, **_more: Any
    ) -> Page[T]:
        self._require(resource)
        return Page(items=(), resource_version="1")

    async def watch(
        self, resource: Resource[T], selection: Selection = EVERYTHING, **_more: Any
    ) -> AsyncIterator[WatchEvent[Any]]:
        self._require(resource)
        decode = msgspec.json.Decoder(resource.type).decode
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.setdefault(resource, []).append(queue)
        for body in self._objects[resource].values():
            found = decode(msgspec.json.encode(body))
            yield WatchEvent(type=EventType.ADDED, object=found, resource_version="1")
        yield WatchEvent(
            type=EventType.BOOKMARK, object=None, resource_version="1", initial_events_end=True
        )
        while True:
            changed = decode(await queue.get())
            yield WatchEvent(
                type=EventType.MODIFIED, object=changed, resource_version=str(self._revision)
            )

    async def get(self, *_given: Any, **_named: Any) -> Any:
        raise kube.NotFound("there is no such object")

    create = patch = apply = delete = get

    def _require(self, resource: Resource[Any]) -> None:
        if resource not in self._objects:
            raise kube.NotFound(f"{resource.plural} are not served")


def _pool_of(number: int) -> str:
    return POOLS[number % 10 != 0]


def _node(number: int) -> dict[str, Any]:
    names = (f"registry.example.com/team-{one % 7}/app-{one}" for one in range(IMAGES_PER_NODE))
    return {
        "metadata": {
            "name": node_name(number),
            "resourceVersion": "1",
            "labels": {_ROLE: _pool_of(number)},
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [
                {"names": [f"{name}@sha256:{number:064x}", f"{name}:1.0"], "sizeBytes": 100 << 20}
                for name in names
            ],
        },
    }


def _pool(name: str, sets: int) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "resourceVersion": "1"},
        "spec": {
            "nodeSelector": {"matchLabels": {_ROLE: name}},
            "pinnedImageSets": [{"name": set_name(one)} for one in range(sets)],
        },
    }


def _image_set(number: int, nodes: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": set_name(number),
            "uid": f"uid-{number}",
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "pinnedImages": [
                {"name": f"registry.example.com/app-{one}@sha256:{number * 1000 + one:064x}"}
                for one in range(IMAGES_PER_SET)
            ]
        },
        "status": {"nodeCount": nodes},
    }


def _report(number: int, sets: int) -> dict[str, Any]:
    is_bad = number % NODES_PER_FAILURE == 7
    degraded = {"type": "PinnedImageSetsDegraded", "status": str(is_bad), "reason": "Measured"}
    return {
        "metadata": {"name": node_name(number), "resourceVersion": "1"},
        "spec": {"node": {"name": node_name(number)}, "pool": {"name": _pool_of(number)}},
        "status": {
            "pinnedImageSets": [_entry(one, is_bad and one == 3) for one in range(sets)],
            "conditions": [degraded],
        },
    }


def _entry(number: int, is_bad: bool) -> dict[str, Any]:
    found = {
        "name": set_name(number),
        "uid": f"uid-{number}",
        "desiredGeneration": 1,
        "currentGeneration": 0 if is_bad else 1,
        "imageCount": IMAGES_PER_SET,
        "presentImageCount": 4 if is_bad else IMAGES_PER_SET,
    }
    if is_bad:
        error = f"registry.example.com/app-4@sha256:{number:064x}: no space left on device"
        found |= {"lastFailedGeneration": 1, "lastFailedGenerationErrors": [error]}
    return found
