"""The cluster, the images and the output that all scenes of the demo share."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import msgspec

from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNodeStatus,
)
from lading.embedded import sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import EmbeddedNode, NodeDescription
from lading.embedded.sample_images import SampleImage
from lading.kernel import conditions, references
from lading.kernel.conditions import Truth
from lading.kernel.platforms import Platform
from lading.pinned_images.node.status import PROGRESSING
from lading.pinned_images.node.types import PinSettings
from lading.ports import kube
from lading.ports.clock import Clock
from lading.prepull.types import PrePullSettings
from lading.wiring.gates import parse_gates

WAIT_SECONDS_MAX = 30.0
POLL_SECONDS = 0.1
MIB = 1024 * 1024
IMAGE_COUNT = 6
SMALL_DISK_BYTES = 6 * MIB
ARM_CLASS = "vm-arm64"
HOST_CLASS = "native"
NODES = (
    NodeDescription(
        name="node-1",
        guests={HOST_CLASS: None, ARM_CLASS: Platform(os="linux", architecture="arm64")},
    ),
    NodeDescription(name="node-2"),
    NodeDescription(name="node-3", capacity_bytes=SMALL_DISK_BYTES),
)


GATES = parse_gates("RuntimeClassInImageCriApi=true,ManagedBootImages=true")
SETTINGS = PinSettings(
    resync_period=timedelta(seconds=1),
    read_back_after=timedelta(milliseconds=200),
    status_interval_min=timedelta(milliseconds=500),
)


def options(data: Path) -> ClusterOptions:
    """Three nodes, one with a small disk. The agents look for lost images every second."""
    return ClusterOptions(
        data=data,
        nodes=NODES,
        gates=GATES,
        settings=SETTINGS,
        prepull=PrePullSettings(quiet=timedelta(milliseconds=500)),
    )


def applications() -> dict[str, SampleImage]:
    """Images for two platforms each, all on one base layer."""
    base = {"base": sample_images.noise("base", 2 * MIB)}
    return {
        f"app-{number}": sample_images.index(
            [
                sample_images.image(
                    [base, {"app": sample_images.noise(f"{number} {machine}", MIB // 4)}],
                    platform=Platform(os="linux", architecture=machine),
                )
                for machine in ("amd64", "arm64")
            ]
        )
        for number in range(1, IMAGE_COUNT + 1)
    }


class DemoFailed(Exception):
    """A check of the demo failed."""


class Output(msgspec.Struct):
    """Prints the scenes, and counts the checks."""

    write: Callable[[str], None]
    scenes: int = 0
    checks: int = 0

    def scene(self, title: str) -> None:
        self.scenes += 1
        self.write(f"\n{self.scenes}. {title}")

    def tell(self, text: str) -> None:
        for line in text.rstrip("\n").splitlines():
            self.write(f"   {line}")

    def check(self, claim: str, holds: bool) -> None:
        if not holds:
            raise DemoFailed(f"check failed: {claim}")
        self.checks += 1
        self.write(f"   ✓ {claim}")


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    cluster: StandaloneCluster
    clock: Clock
    output: Output

    def node(self, name: str) -> EmbeddedNode:
        return next(one for one in self.cluster.nodes if one.description.name == name)

    def image(self, name: str, made: SampleImage) -> str:
        return f"{self.cluster.registry_host}/demo/{name}@{made.digest}"

    async def push(self, name: str, made: SampleImage) -> None:
        reference = references.parse(f"{self.cluster.registry_host}/demo/{name}:v1")
        await sample_images.push(self.cluster.registries.client, reference, made)

    async def report(self, name: str) -> MachineConfigNodeStatus:
        """The status of its MachineConfigNode; an empty one if there is none yet."""
        try:
            return (await self.cluster.kube.get(MACHINE_CONFIG_NODES, name)).status
        except kube.NotFound:
            return MachineConfigNodeStatus()

    async def pinned_count(self, name: str) -> int:
        """The number of pinned images, each counted once for all runtime handlers."""
        images = await self.node(name).runtime.cri.images()
        return len({image.id for image in images if image.pinned})

    async def holds(self, node: str, image_set: str) -> bool:
        """Whether the node reports that it has and pins the set."""
        entries = (await self.report(node)).pinned_image_sets
        return any(
            entry.name == image_set and 0 < entry.current_generation == entry.desired_generation
            for entry in entries
        )

    async def until_held(self, node: str, image_set: str) -> None:
        """Waits, and prints the progress that the node reports."""
        shown = ""

        async def holds() -> bool:
            nonlocal shown
            progress = conditions.find((await self.report(node)).conditions, PROGRESSING)
            if progress and progress.status is Truth.TRUE and progress.message != shown:
                shown = progress.message
                self.output.tell(f"{node}: {shown}")
            return await self.holds(node, image_set)

        await self.until(f"{node} holds {image_set}", holds)

    async def until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        deadline = self.clock.monotonic() + WAIT_SECONDS_MAX
        while not await holds():
            if self.clock.monotonic() > deadline:
                raise DemoFailed(f"not within {WAIT_SECONDS_MAX:.0f} s: {what}")
            await self.clock.sleep(POLL_SECONDS)
