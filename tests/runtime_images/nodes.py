"""A node with images that fill nine tenths of its disk, and its garbage collection."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import prometheus_client

from lading.adapters.clock import VirtualClock
from lading.adapters.disk import LimitedDisk
from lading.adapters.kubelet import FixedLimits
from lading.embedded import sample_images
from lading.ports.cri import Container, ContainerState, ImageSpec
from lading.ports.node import KubeletLimits
from lading.runtime_images import plan as policies
from lading.runtime_images.controller import KEY, GarbageCollection
from lading.runtime_images.gc_types import GcPolicy
from lading.runtime_images.metrics import ImageMetrics
from tests.runtime_images.conftest import Stand

LAYER_BYTES = 100_000
CAPACITY_BYTES = 1_000_000
PERIOD_SECONDS = 300.0
EVERYTHING = GcPolicy(everything_unused=True, minimum_age=timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FullNode:
    stand: Stand
    tags: tuple[str, ...]
    clock: VirtualClock
    disk: LimitedDisk

    def collection(self, **more: Any) -> GarbageCollection:
        """Each has forgotten what is not in the state file, as after a restart."""
        common: dict[str, Any] = {
            "runtime": self.stand.runtime,
            "disk": self.disk,
            "state": self.stand.state,
            "clock": self.clock,
            "kubelet": FixedLimits(KubeletLimits()),
            "policy": GcPolicy(period=timedelta(seconds=PERIOD_SECONDS)),
        }
        registry = prometheus_client.CollectorRegistry()
        return GarbageCollection(**{**common, "metrics": ImageMetrics(registry), **more})

    async def collect(self, **more: Any) -> None:
        await self.collection(**more).reconcile(KEY)

    async def used_percent(self) -> int:
        space = await self.disk.space(str(self.stand.folder / "runtime"))
        assert space is not None
        return policies.used_percent(space)


async def full_node(stand: Stand) -> FullNode:
    tags = tuple([await published(stand, f"app{number}:1") for number in range(9)])
    for tag in tags:
        await stand.runtime.pull(ImageSpec(image=tag))
    return FullNode(
        stand=stand,
        tags=tags,
        clock=VirtualClock(),
        disk=LimitedDisk(stand.runtime, capacity_bytes=CAPACITY_BYTES),
    )


async def published(stand: Stand, name: str, *platforms: str) -> str:
    contents = {
        platform: [sample_images.noise(f"{name} {platform}", size_bytes=LAYER_BYTES)]
        for platform in platforms or ("linux/amd64",)
    }
    return await stand.publisher.index(name, contents)


def container(image_id: str, *, handler: str = "", mounts: str = "") -> Container:
    volumes = (ImageSpec(image=mounts, runtime_handler=handler),) if mounts else ()
    return Container(
        id="1",
        name="web",
        state=ContainerState.RUNNING,
        image=ImageSpec(image=image_id, runtime_handler=handler),
        image_id=image_id,
        image_volumes=volumes,
    )


async def tags_left(stand: Stand) -> set[str]:
    return {tag for image in await stand.runtime.images() for tag in image.repo_tags}
