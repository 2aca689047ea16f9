"""What is carried out on an API server that has moved on since the plan was made."""

from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.installation import apply as installation
from lading.pinned_images.cluster import apply
from lading.pinned_images.cluster.types import EnterSets
from lading.ports import kube
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized

POOL = {
    "apiVersion": MACHINE_CONFIG_POOLS.api_version,
    "kind": MACHINE_CONFIG_POOLS.kind,
    "metadata": {"name": "infra"},
    "spec": {"nodeSelector": {}},
}


@pytest.fixture
async def api() -> AsyncIterator[KubeClient]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"token": ADMIN})
    client = KubeClient(Authorized(core, "token"))
    await installation.install(client, SystemClock())
    yield client
    await core.close()


def entering(pool: MachineConfigPool) -> EnterSets:
    metadata = pool.metadata
    return EnterSets(pool=metadata.name, uid=metadata.uid, sets=("release",), because="a test")


async def test_sets_are_entered_in_the_pool_that_was_seen(api: KubeClient) -> None:
    pool = await api.create(MACHINE_CONFIG_POOLS, POOL)
    await apply.apply(entering(pool), api)
    found = await api.get(MACHINE_CONFIG_POOLS, "infra")
    assert [one.name for one in found.spec.pinned_image_sets] == ["release"]


async def test_a_pool_that_was_deleted_meanwhile_does_not_come_back(api: KubeClient) -> None:
    pool = await api.create(MACHINE_CONFIG_POOLS, POOL)
    await api.delete(MACHINE_CONFIG_POOLS, "infra")
    with pytest.raises(kube.Conflict):
        await apply.apply(entering(pool), api)
    with pytest.raises(kube.NotFound):
        await api.get(MACHINE_CONFIG_POOLS, "infra")


async def test_another_pool_of_the_same_name_is_planned_anew(api: KubeClient) -> None:
    pool = await api.create(MACHINE_CONFIG_POOLS, POOL)
    await api.delete(MACHINE_CONFIG_POOLS, "infra")
    await api.create(MACHINE_CONFIG_POOLS, POOL)
    with pytest.raises(kube.Conflict):
        await apply.apply(entering(pool), api)
    found = await api.get(MACHINE_CONFIG_POOLS, "infra")
    assert found.spec.pinned_image_sets == ()
