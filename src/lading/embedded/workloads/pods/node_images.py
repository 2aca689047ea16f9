"""Writes `status.images` of a Node like a kubelet: the largest images with some of their names."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lading.embedded.workloads.actions import Patch
from lading.embedded.workloads.kinds import NODES, ListedImage, Node
from lading.embedded.workloads.reconciler import WorkloadContext, WorkloadReconciler
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.ports import cri
from lading.ports.cri import Cri

IMAGES_MAX = 50  # the kubelet's nodeStatusMaxImages
NAMES_MAX = 5
INTERVAL = timedelta(seconds=10)  # the kubelet's nodeStatusUpdateFrequency


class ObservedImageList(msgspec.Struct, frozen=True, kw_only=True):
    node: Node | None
    images: tuple[cri.Image, ...]


def plan(observed: ObservedImageList, now: datetime) -> Plan:
    wanted = listed(observed.images)
    if observed.node is None or observed.node.status.images == wanted:
        return Plan(recheck_at=now + INTERVAL)
    images = [{"names": list(one.names), "sizeBytes": one.size_bytes} for one in wanted]
    write = Patch(
        resource=NODES,
        key=observed.node.key,
        body={"status": {"images": images or None}},
        because="the images of the node changed",
    )
    return Plan(actions=(write,), recheck_at=now + INTERVAL)


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

    def __init__(self, context: WorkloadContext, runtime: Cri) -> None:
        super().__init__(context, NODES)
        self._runtime = runtime

    async def observe(self, key: Key) -> ObservedImageList:
        return ObservedImageList(node=self.get(NODES, key), images=await self._runtime.images())

    def plan(self, observed: ObservedImageList, now: datetime) -> Plan:
        return plan(observed, now)
