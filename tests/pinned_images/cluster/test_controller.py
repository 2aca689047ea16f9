"""A reconciler with caches that lag behind what it wrote itself."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.installation import apply as installation
from lading.kernel.objects import Key
from lading.pinned_images.cluster import plan
from lading.pinned_images.cluster.controller import PoolSetsReconciler, SetReconciler
from lading.pinned_images.cluster.fleet import ClusterCaches
from lading.ports.http import HttpTransport, Request, Response
from lading.wiring.features import DEFINITIONS
from tests.pinned_images.cluster.build import (
    empty_caches,
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

    behind: HttpTransport
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


async def entered(network: Network) -> MachineConfigPool:
    patch = {"spec": {"pinnedImageSets": [{"name": "release"}]}}
    written = await KubeClient(network).patch(MACHINE_CONFIG_POOLS, "worker", patch)
    network.written.clear()
    return written
