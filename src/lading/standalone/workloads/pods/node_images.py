"""Writes `status.images` of the node: the largest images and some of their names, as a kubelet."""

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.ports import cri
from lading.ports.cri import Cri
from lading.standalone.workloads.kinds import NODES, ListedImage, Node
from lading.standalone.workloads.reconciler import WorkloadContext, WorkloadReconciler

IMAGES_MAX = 50  # the kubelet's nodeStatusMaxImages
NAMES_MAX = 5


class ObservedImageList(msgspec.Struct, frozen=True, kw_only=True):
    node: Node | None
    images: tuple[cri.Image, ...]


class WriteImages(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    images: tuple[ListedImage, ...]
    because: str = "the images of the node changed"
    lane: Hashable = "node"


def plan(observed: ObservedImageList, now: datetime, *, interval: timedelta) -> Plan:
    if observed.node is None:
        return Plan(recheck_at=now + interval)
    wanted = listed(observed.images)
    write = WriteImages(name=observed.node.metadata.name, images=wanted)
    is_same = observed.node.status.images == wanted
    return Plan(actions=() if is_same else (write,), recheck_at=now + interval)


def listed(images: Iterable[cri.Image]) -> tuple[ListedImage, ...]:
    by_size = sorted(images, key=lambda one: (-one.size_bytes, one.id, one.runtime_handler))
    return tuple(
        ListedImage(
            names=(*one.repo_digests, *one.repo_tags)[:NAMES_MAX], size_bytes=one.size_bytes
        )
        for one in by_size[:IMAGES_MAX]
    )


class NodeImagesReconciler(WorkloadReconciler[ObservedImageList]):
    name = "node-images"

    def __init__(self, context: WorkloadContext, runtime: Cri, interval: timedelta) -> None:
        super().__init__(context, NODES)
        self._runtime = runtime
        self._interval = interval

    async def observe(self, key: Key) -> ObservedImageList:
        return ObservedImageList(node=self.get(NODES, key), images=await self._runtime.images())

    def plan(self, observed: ObservedImageList, now: datetime) -> Plan:
        return plan(observed, now, interval=self._interval)

    async def apply(self, action: Any) -> None:
        assert isinstance(action, WriteImages)
        images = [{"names": list(one.names), "sizeBytes": one.size_bytes} for one in action.images]
        with pipeline.precondition(f"Node {action.name}"):
            written = await self._context.kube.patch(
                NODES, action.name, {"status": {"images": images or None}}, subresource="status"
            )
        self._caches[NODES].add(written)
