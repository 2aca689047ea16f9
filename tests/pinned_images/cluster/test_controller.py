"""A reconciler with caches that lag behind what it wrote itself."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from lading.adapters.clock import SystemClock, VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MachineConfigNode,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.installation import apply as installation
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.pinned_images.cluster import plan
from lading.pinned_images.cluster.controller import PoolSetsReconciler, SetReconciler
from lading.pinned_images.cluster.fleet import ClusterCaches
from lading.pinned_images.cluster.types import NODES_AT_ONCE
from lading.ports.http import Exchange, Request, Response
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized
from lading.wiring.features import DEFINITIONS
from tests.pinned_images.cluster.build import (
    empty_caches,
    images,
    machine_config_node,
    node,
    tools,
)

RECONCILES = 4
WORKERS = "machineconfigpools/worker"
POOL = {
    "apiVersion": MACHINE_CONFIG_POOLS.api_version,
    "kind": MACHINE_CONFIG_POOLS.kind,
    "metadata": {"name": "worker"},
    "spec": plan.DEFAULT_POOLS["worker"],
}
SET = {
    "apiVersion": PINNED_IMAGE_SETS.api_version,
    "kind": PINNED_IMAGE_SETS.kind,
    "metadata": {"name": "release", "labels": {group.ROLE_LABEL: "worker"}},
    "spec": {"pinnedImages": [{"name": f"quay.io/app@sha256:{'a' * 64}"}]},
}


@dataclass
class Network:
    """What goes to the API server over it, except for reads."""

    behind: Exchange
    written: list[str] = field(default_factory=list)

    async def __call__(self, request: Request) -> Response:
        if request.method != "GET":
            self.written.append(request.path.rpartition("/v1/")[2])
        return await self.behind(request)


@pytest.fixture
async def network() -> AsyncIterator[Network]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    yield Network(Authorized(core, "token"))
    await core.close()


@pytest.fixture
async def caches(network: Network) -> ClusterCaches:
    """They show what was there before the first reconcile, and nothing of what is written."""
    api = KubeClient(network)
    await installation.install(api, SystemClock(), DEFINITIONS)
    made = empty_caches()
    made.pools.put(await api.create(MACHINE_CONFIG_POOLS, POOL))
    made.sets.put(await api.create(PINNED_IMAGE_SETS, SET))
    network.written.clear()
    return made


async def test_a_pool_is_not_written_again_before_the_cache_shows_it(
    network: Network, caches: ClusterCaches
) -> None:
    reconciler = PoolSetsReconciler(tools(KubeClient(network), caches))
    for _ in range(RECONCILES):
        await reconciler.reconcile(Key("", "worker"))
    assert Counter(network.written) == {WORKERS: 1}


async def test_a_set_is_not_written_again_before_the_cache_shows_it(
    network: Network, caches: ClusterCaches
) -> None:
    caches.pools.put(await entered(network))
    reconciler = SetReconciler(tools(KubeClient(network), caches))
    for _ in range(RECONCILES):
        await reconciler.reconcile(Key("", "release"))
    assert Counter(network.written) == {"pinnedimagesets/release/status": 1}


async def test_a_rollout_of_a_large_set_costs_one_write_however_long_it_takes(
    network: Network, caches: ClusterCaches
) -> None:
    api = KubeClient(network)
    nodes = [f"n-{number}" for number in range(NODES_AT_ONCE + 1)]
    for name in nodes:
        caches.nodes.put(node(name))
        caches.machine_config_nodes.put(machine_config_node(name))
    patch = {"spec": {"pinnedImages": images(plan.LARGE_SET_IMAGES + 1)}}
    made = await api.patch(PINNED_IMAGE_SETS, "release", patch)
    caches.sets.put(made)
    caches.pools.put(await entered(network))
    created = datetime.fromisoformat(made.metadata.creation_timestamp)
    work = tools(api, caches, start=created)
    clock, reconciler = work.clock, SetReconciler(work)
    assert isinstance(clock, VirtualClock)

    async def written_after(minutes: float) -> int:
        await clock.advance(60 * minutes)
        await reconciler.reconcile(Key("", "release"))
        return len(network.written)

    assert await written_after(0) == 0
    for present in range(plan.LARGE_SET_IMAGES):
        caches.machine_config_nodes.put(reported(nodes[0], made, present))
        assert await written_after(14) == 0, "half a day of progress"
    assert await written_after(2) == 1, "the nodes are silent"
    for name in nodes:
        caches.machine_config_nodes.put(reported(name, made, plan.LARGE_SET_IMAGES + 1))
    assert await written_after(0) == 2, "the set is ready"


def reported(name: str, image_set: PinnedImageSet, present: int) -> MachineConfigNode:
    count, metadata = len(image_set.spec.pinned_images), image_set.metadata
    entry = NodePinnedImageSet(
        name=metadata.name,
        uid=metadata.uid,
        current_generation=metadata.generation if present == count else 0,
        desired_generation=metadata.generation,
        image_count=count,
        present_image_count=present,
    )
    before = machine_config_node(name)
    return replace(
        before,
        metadata=replace(before.metadata, resource_version=str(1 + present)),
        status=replace(before.status, pinned_image_sets=(entry,)),
    )


async def entered(network: Network) -> MachineConfigPool:
    patch = {"spec": {"pinnedImageSets": [{"name": "release"}]}}
    written = await KubeClient(network).patch(MACHINE_CONFIG_POOLS, "worker", patch)
    network.written.clear()
    return written
