"""A reconciler whose caches lag behind what it wrote itself."""

import gc
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.installation import apply as installation
from lading.kernel.objects import Key
from lading.loop.informer import Informer
from lading.pinned_images.cluster import plan
from lading.pinned_images.cluster.controller import PLANNERS, Caches, ClusterReconciler
from lading.ports.http import Exchange, Request, Response
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized
from lading.wiring.features import DEFINITIONS

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
async def caches(network: Network) -> Caches:
    """They show what was there before the first look, and nothing of what is written."""
    api = KubeClient(network)
    await installation.install(api, SystemClock(), DEFINITIONS)
    made = Caches(
        nodes=Informer(NODES),
        pools=Informer(MACHINE_CONFIG_POOLS),
        sets=Informer(PINNED_IMAGE_SETS),
        machine_config_nodes=Informer(MACHINE_CONFIG_NODES),
    )
    made.pools.put(await api.create(MACHINE_CONFIG_POOLS, POOL))
    made.sets.put(await api.create(PINNED_IMAGE_SETS, SET))
    network.written.clear()
    return made


def reconciler_of(controller: str, network: Network, caches: Caches) -> ClusterReconciler:
    return ClusterReconciler(
        planner=PLANNERS[controller],
        kube=KubeClient(network),
        clock=SystemClock(),
        caches=caches,
        is_on=True,
    )


@pytest.mark.parametrize(
    ("controller", "name", "writes"),
    [
        ("pinned-images-pools", "worker", {WORKERS: 1, f"{WORKERS}/status": 1}),
        ("pinned-images-sets", "release", {"pinnedimagesets/release/status": 1}),
    ],
)
async def test_what_was_written_is_not_written_again_before_the_cache_shows_it(
    network: Network, caches: Caches, controller: str, name: str, writes: dict[str, int]
) -> None:
    reconciler = reconciler_of(controller, network, caches)
    for _ in range(RECONCILES):
        await reconciler.reconcile(Key("", name))
    assert Counter(network.written) == writes


async def test_what_the_cache_shows_is_not_kept_a_second_time(
    network: Network, caches: Caches
) -> None:
    """A controller would remember every set and node that ever was."""
    reconciler = reconciler_of("pinned-images-sets", network, caches)
    await reconciler.reconcile(Key("", "release"))
    shown = await KubeClient(network).get(PINNED_IMAGE_SETS, "release")
    caches.sets.put(shown)
    await reconciler.reconcile(Key("", "release"))
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, PinnedImageSet)]
    assert [one for one in kept if one.metadata.uid == shown.metadata.uid] == [shown]
