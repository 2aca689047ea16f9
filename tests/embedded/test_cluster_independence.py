"""What must not hold up anything else, on a whole cluster in one process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from lading.adapters.clock import SystemClock
from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster, sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.core import RegistryCore
from lading.kernel import references
from lading.pinned_images.node.types import PinSettings
from lading.ports import kube

WAIT_SECONDS_MAX = 20.0
ROLE = "machineconfiguration.openshift.io/role"


@dataclass(frozen=True, slots=True)
class World:
    cluster: StandaloneCluster

    async def push(self, name: str, host: str = "") -> str:
        made = sample_images.image([{"file": sample_images.noise(name, 50_000)}])
        tag = references.parse(f"{host or self.cluster.registry_host}/{name}:v1")
        registry = self.cluster.registries.client
        return str(await sample_images.push(registry, tag, made))

    async def apply_set(self, name: str, *images: str, role: str = "worker") -> None:
        body = {
            "apiVersion": PINNED_IMAGE_SETS.api_version,
            "kind": PINNED_IMAGE_SETS.kind,
            "metadata": {"name": name, "labels": {ROLE: role}},
            "spec": {"pinnedImages": [{"name": image} for image in images]},
        }
        await self.cluster.kube.apply(PINNED_IMAGE_SETS, body, field_manager="test", force=True)

    async def make_pool(self, name: str, *, node_label: dict[str, str]) -> None:
        body = {
            "apiVersion": MACHINE_CONFIG_POOLS.api_version,
            "kind": MACHINE_CONFIG_POOLS.kind,
            "metadata": {"name": name},
            "spec": {"nodeSelector": {"matchLabels": node_label}},
        }
        await self.cluster.kube.create(MACHINE_CONFIG_POOLS, body)

    async def pinned(self) -> set[str]:
        images = await self.cluster.nodes[0].runtime.cri.images()
        return {name for image in images if image.pinned for name in image.repo_digests}

    async def holds(self, name: str, generation: int) -> bool:
        try:
            report = await self.cluster.kube.get(MACHINE_CONFIG_NODES, "node-1")
        except kube.NotFound:
            return False
        return any(
            (entry.name, entry.current_generation) == (name, generation)
            for entry in report.status.pinned_image_sets
        )

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not await holds():
                await SystemClock().sleep(0.05)

    async def until_held(self, name: str, generation: int = 1) -> None:
        await self.until(lambda: self.holds(name, generation))

    async def until_pinned(self, *images: str) -> None:
        async def exactly() -> bool:
            return await self.pinned() == set(images)

        await self.until(exactly)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    options = ClusterOptions(
        data=tmp_path,
        nodes=(NodeDescription(name="node-1"),),
        settings=PinSettings(read_back_after=timedelta(milliseconds=100)),
    )
    async with cluster.open_cluster(options, SystemClock()) as running:
        work = asyncio.create_task(running.run())
        try:
            yield World(running)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


@asynccontextmanager
async def registry_that_hangs(root: Path) -> AsyncIterator[str]:
    """Takes pushes and tells manifests, but a layer that is asked for never comes."""

    @web.middleware
    async def hang(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.method == "GET" and "/blobs/" in request.path:
            await asyncio.Event().wait()
        answer = await handler(request)
        assert isinstance(answer, web.StreamResponse)
        return answer

    served = registry_server.make_app(RegistryCore.on(root), None)
    served.middlewares.append(hang)
    runner = web.AppRunner(served, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_hung_pull_holds_up_neither_another_set_nor_an_edit(
    world: World, tmp_path: Path
) -> None:
    """In OpenShift's daemon one hung pull blocked the round, and with it everything else."""
    async with registry_that_hangs(tmp_path / "hanging") as host:
        hung, fine, other = (
            await world.push("hung", host),
            await world.push("fine"),
            await world.push("other"),
        )
        await world.apply_set("edited", hung, fine)
        await world.apply_set("other", other)
        await world.until_held("other")
        assert await world.pinned() == {other}
        await world.apply_set("edited", fine)
        await world.until_held("edited", generation=2)
        await world.until_pinned(fine, other)


async def test_a_node_that_moves_to_another_pool_changes_its_sets(world: World) -> None:
    """OpenShift's daemon took no notice of a node's labels after its start."""
    common, special = await world.push("common"), await world.push("special")
    await world.make_pool("infra", node_label={"infra": "yes"})
    await world.apply_set("workers", common)
    await world.apply_set("infra", special, role="infra")
    await world.until_pinned(common)
    await world.cluster.kube.patch(NODES, "node-1", {"metadata": {"labels": {"infra": "yes"}}})
    await world.until_pinned(common, special)
    await world.cluster.kube.patch(NODES, "node-1", {"metadata": {"labels": {"infra": None}}})
    await world.until_pinned(common)


async def test_a_deleted_pool_drops_only_its_own_pins(world: World) -> None:
    """In OpenShift's daemon the pins of all pools went with one."""
    common, special = await world.push("common"), await world.push("special")
    await world.make_pool("extra", node_label={"kubernetes.io/hostname": "node-1"})
    await world.apply_set("workers", common)
    await world.apply_set("extra", special, role="extra")
    await world.until_pinned(common, special)
    await world.cluster.kube.delete(MACHINE_CONFIG_POOLS, "extra")
    await world.until_pinned(common)
    assert await world.holds("workers", 1)
