"""Held images on a real cluster, and what runs in the pods that hold them.

Lading's processes have the rights of `deploy/` and no others. The kubelet and the runtime are real.
"""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES, Pod
from lading.api.longhorn import SETTING_NAME, SETTINGS
from lading.ports import kube
from lading.ports.cri import ImageSpec
from lading.prepull import holder, nodes
from lading.prepull.rules import HELD_AS_IMAGE_VOLUME
from lading.prepull.types import HOLD_PROGRAM, IMAGES_PRESENT
from tests.deploy import hold_program
from tests.deploy.manifests import NAMESPACE
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.prepull import PrePullUnderTest, names_of
from tests.real import under_test
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import disk, images

MEBIBYTE = 1 << 20
DISK_BYTES = 512 * MEBIBYTE
BALLAST_BYTES = 150 * MEBIBYTE
KUBELET_SETTINGS = {
    "evictionHard": {"imagefs.available": "200Mi"},
    "evictionPressureTransitionPeriod": "1s",
    "imageMinimumGCAge": "1s",
}
FULL_SECONDS = 60.0
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
PLANTED = b"planted"
"""Behind a program it changes nothing but its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World(PrePullUnderTest):
    cluster: ClusterUnderTest
    bed: cluster_bed.Cluster
    hold_image: str
    hold: bytes
    """Lading's program that waits."""
    namespace: str = NAMESPACE

    @property
    def node_names(self) -> tuple[str, ...]:
        return (self.bed.node_name,)

    @property
    def kube(self) -> KubeClient:
        return self.cluster.kube

    @property
    def registry_host(self) -> str:
        return self.bed.registry.host

    async def push(self, name: str, tag: str) -> str:
        made = images.image(files={"cargo.txt": os.urandom(64)})
        return self.push_image(made, name, tag)

    def push_image(self, made: images.Image, name: str, tag: str = "1") -> str:
        return images.push(made, host=self.registry_host, repository=name, tag=tag)

    def push_unusual(self) -> dict[str, str]:
        """By name, images that cannot be run, or must not be."""
        made = {
            "linked-volume": image_with_a_linked_volume(self.hold),
            "nothing": image_of_nothing(),
            "artifact": artifact(),
        }
        return {name: self.push_image(one, name) for name, one in made.items()}

    async def start(self, listed: Mapping[str, str], *options: str) -> None:
        if self.cluster.controller.is_running:
            await self.cluster.controller.stop()
        self.cluster.controller.environment = {"NODE_NAME": self.bed.node_name}
        await self.cluster.controller.start(
            f"--prepull-hold-image={self.hold_image}",
            *(f"--prepull-image={name}={url}" for name, url in listed.items()),
            *options,
        )

    async def clean(self) -> None:
        """A test finds the node and nothing of another one, also if that one failed."""
        if self.cluster.controller.is_running:
            await self.cluster.controller.stop()
        for name in await self.images():
            await self.delete_image(name)
        with contextlib.suppress(kube.NotFound):
            await self.kube.delete(SETTINGS, SETTING_NAME, namespace=NAMESPACE)

        async def nothing_is_left() -> bool:
            return await self.daemon_set() is None and not await self.pods()

        await self.until(nothing_is_left, "the DaemonSet and its pods are gone with the Images")

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return self.bed.api_server.kubectl(*arguments, stdin=stdin)

    async def why_not(self) -> str:
        found = await super(World, self).why_not()
        return found + self.cluster.controller.log_tail()

    async def present(self, node: str) -> set[str]:
        known = self.bed.runtime.crictl_json("images")["images"]
        return {tag for one in known for tag in one["repoTags"]}

    async def way(self) -> tuple[str, str]:
        """In which way images are held, as the status of every Image says."""
        found = {
            (str(one.status), one.message)
            for image in (await self.images()).values()
            for one in image.status.conditions
            if one.type == HELD_AS_IMAGE_VOLUME
        }
        (way,) = found
        return way

    async def check_programs(self, urls: Iterable[str]) -> None:
        """Each of the images has a container, and every process there is Lading's own program."""
        found = await self.programs()
        assert set(found) == set(map(holder.container_name, urls))
        strange = {name for name, programs in found.items() if programs != {self.hold}}
        assert not strange, f"another program runs in {sorted(strange)}"

    async def programs(self) -> dict[str, set[bytes]]:
        """By container of the newest holder pods, what its processes run, byte for byte.

        A pod of an older template stays until the new one is ready, and an image that cannot be
        held keeps it from that.
        """
        made, annotation = await self.daemon_set(), holder.TEMPLATE_ANNOTATION
        assert made is not None
        found: dict[str, set[bytes]] = {}
        for pod in await self.pods():
            if pod.metadata.annotations[annotation] == made.metadata.annotations[annotation]:
                for name, container_id in await self._running(pod):
                    found.setdefault(name, set()).update(_programs_of(container_id))
        return found

    async def _running(self, pod: Pod) -> list[tuple[str, str]]:
        """Names and IDs of its containers, init containers included."""
        text = self.kubectl("get", "pod", pod.metadata.name, f"-n{NAMESPACE}", "-ojson")
        status = json.loads(text)["status"]
        statuses = status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
        return [
            (one["name"], one["containerID"].rpartition("/")[2])
            for one in statuses
            if "running" in one["state"]
        ]


def _programs_of(container_id: str) -> set[bytes]:
    """A process is one of the container when it is in its control group."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):  # it may end while it is looked at
                if container_id in (process / "cgroup").read_text():
                    found.add((process / "exe").read_bytes())
    return found


def image_with_a_linked_volume(program: bytes, folder: str = "lading-hold") -> images.Image:
    """Its VOLUME is a link to a folder of Lading's, in which it has a program of its own."""
    return images.image(
        files={f"{folder}/hold": program + PLANTED},
        links={"a/b": f"/{folder}"},
        volumes=["/a/b"],
    )


def image_of_nothing() -> images.Image:
    """What `FROM scratch` alone makes: no layer, no entry point."""
    config = {
        "architecture": images.ARCHITECTURE,
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": []},
    }
    return images.of_blobs(json.dumps(config).encode(), images.CONFIG_TYPE, {})


def artifact() -> images.Image:
    """No image: an empty configuration, and one blob that is no layer of files."""
    return images.of_blobs(
        b"{}", EMPTY_TYPE, {"text/plain": b"cargo"}, artifactType="application/vnd.example"
    )


async def check_that_a_removed_image_comes_back(world: World) -> None:
    """By the pod that replaces the one of the image, or by the kubelet when it looks at the pod."""
    url = await world.push("lost", "1")
    await world.start({"lost": url})
    await world.until_deployed(*names_of({"lost": url}))

    async def is_seen() -> bool:
        pods = await world.pods()
        return any(one.type == IMAGES_PRESENT for pod in pods for one in pod.status.conditions)

    await world.until(is_seen, "the agent compared the pod with its runtime")
    world.bed.runtime.crictl("rmi", url)
    assert url not in await world.present(world.bed.node_name)

    async def is_back() -> bool:
        return url in await world.present(world.bed.node_name)

    await world.until(is_back, "the image was pulled again")
    await world.until_deployed(*names_of({"lost": url}))


async def check_that_garbage_collection_takes_no_held_image(world: World, *options: str) -> str:
    """The URL of the image."""
    url = await world.push("kept", "1")
    await world.start({"kept": url}, *options)
    await world.until_deployed(*names_of({"kept": url}))
    (node,) = world.cluster.nodes
    ballast = {
        world.push_image(images.image(files={f"{name}.bin": bytes(BALLAST_BYTES)}), name)
        for name in ("ballast-1", "ballast-2")
    }
    for one in ballast:
        await node.cri.pull(ImageSpec(image=one))

    async def is_collected() -> bool:
        return not ballast <= await node.present()

    await world.until(is_collected, "the kubelet removed an image that nothing uses")
    assert url in await world.present(world.bed.node_name)
    for one in ballast:
        await node.cri.remove(ImageSpec(image=one))
    return url


@contextlib.contextmanager
def bed_with_a_small_disk(**runtime: str) -> Iterator[cluster_bed.Cluster]:
    """At 200 MiB of free space the kubelet removes every image not in use."""
    with disk.loop_filesystem(DISK_BYTES) as root, bed_on_disk(root, **runtime) as running:
        yield running


@contextlib.contextmanager
def bed_on_disk(root: Path, **runtime: str) -> Iterator[cluster_bed.Cluster]:
    with cluster_bed.cluster(root=root, kubelet_settings=KUBELET_SETTINGS, **runtime) as running:
        yield running


async def pods_made_on_a_full_disk(world: World, root: Path) -> set[str]:
    """Fills the disk with what no kubelet can remove, for a while, and frees it again.

    The UIDs of all holder pods that existed meanwhile.
    """
    await world.until(lambda: has_one_pod(world), "only the new pod is there")
    ballast, seen = root / "ballast.bin", {one.metadata.uid for one in await world.pods()}
    free_bytes = shutil.disk_usage(root).free - 20 * MEBIBYTE
    ballast.write_bytes(os.urandom(free_bytes))
    try:
        await world.until(lambda: has_pressure(world), "the node has DiskPressure")
        deadline = time.monotonic() + FULL_SECONDS
        while time.monotonic() < deadline:
            seen |= {one.metadata.uid for one in await world.pods()}
            await asyncio.sleep(0.1)
        assert await has_pressure(world)
    finally:
        ballast.unlink()
    await world.until(lambda: has_no_pressure(world), "the node has no DiskPressure")
    return seen


async def has_one_pod(world: World) -> bool:
    return len(await world.pods()) == 1


async def has_pressure(world: World) -> bool:
    return nodes.has_pressure(await world.kube.get(NODES, world.bed.node_name))


async def has_no_pressure(world: World) -> bool:
    return not await has_pressure(world)


@contextlib.asynccontextmanager
async def opened(bed: cluster_bed.Cluster, folder: Path) -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory() as made:
        program = hold_program.compiled(Path(made)).read_bytes()
    image = images.image(files={HOLD_PROGRAM.lstrip("/"): program})
    hold_image = images.push(image, host=bed.registry.host, repository="lading", tag="hold")
    decided = (f"--prepull-hold-image={hold_image}", "--prepull-pull-secret=absent")
    async with under_test.on_cluster(bed, folder, *decided) as cluster:
        world = World(cluster=cluster, bed=bed, hold_image=hold_image, hold=program)
        await world.start({})
        yield world
