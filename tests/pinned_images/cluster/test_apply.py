"""What is carried out on an API server that has moved on since the plan was made."""

from datetime import UTC, datetime

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.machineconfiguration.pinned_image_set import (
    PINNED_IMAGE_SETS,
    PinnedImageSet,
    PinnedImageSetStatus,
)
from lading.embedded import node as nodes
from lading.embedded.node import NodeDescription
from lading.kernel.objects import Key
from lading.pinned_images.cluster import apply
from lading.pinned_images.cluster import status as status_of
from lading.pinned_images.cluster.controller import SetReconciler
from lading.pinned_images.cluster.types import (
    ApplyMachineConfigNode,
    AssignSetsToPool,
    CreatePool,
    ObservedSet,
    WriteSetStatus,
)
from lading.ports import kube
from lading.ports.http import Request
from tests.pinned_images.cluster.build import empty_caches, tools
from tests.pinned_images.installed_api import api

NOW = datetime(2026, 1, 1, tzinfo=UTC)

POOL = {
    "apiVersion": MACHINE_CONFIG_POOLS.api_version,
    "kind": MACHINE_CONFIG_POOLS.kind,
    "metadata": {"name": "infra"},
    "spec": {"nodeSelector": {}},
}


SET = {
    "apiVersion": PINNED_IMAGE_SETS.api_version,
    "kind": PINNED_IMAGE_SETS.kind,
    "metadata": {"name": "s"},
    "spec": {"pinnedImages": [{"name": f"quay.io/app@sha256:{'a' * 64}"}]},
}


__all__ = ["api"]


def entering(pool: MachineConfigPool) -> AssignSetsToPool:
    metadata = pool.metadata
    return AssignSetsToPool(
        pool=metadata.name, uid=metadata.uid, sets=("release",), because="a test"
    )


def writing(image_set: PinnedImageSet, status: PinnedImageSetStatus) -> WriteSetStatus:
    name, revision = image_set.metadata.name, image_set.metadata.resource_version
    return WriteSetStatus(
        image_set=name, resource_version=revision, status=status, because="a test"
    )


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


async def test_a_machine_config_node_belongs_to_its_node(api: KubeClient) -> None:
    await nodes.register(api, NodeDescription(name="n"), SystemClock())
    node = await api.get(NODES, "n")
    await apply.apply(ApplyMachineConfigNode(node=node, pool="worker", because="a test"), api)
    found = await api.get(MACHINE_CONFIG_NODES, "n")
    assert (found.spec.node.name, found.spec.pool.name) == ("n", "worker")
    (owner,) = found.metadata.owner_references
    assert (owner.api_version, owner.kind, owner.uid) == ("v1", "Node", node.metadata.uid)


async def test_a_pool_that_was_made_meanwhile_stands(api: KubeClient) -> None:
    theirs = await api.create(MACHINE_CONFIG_POOLS, POOL)
    spec = {"nodeSelector": {"matchLabels": {"other": "yes"}}}
    await apply.apply(CreatePool(name="infra", spec=spec, because="a test"), api)
    assert await api.get(MACHINE_CONFIG_POOLS, "infra") == theirs


async def test_a_set_that_no_node_has_shows_noughts(api: KubeClient) -> None:
    made = await api.create(PINNED_IMAGE_SETS, SET)
    status = status_of.set_status(ObservedSet(image_set=made), NOW)
    await apply.apply(writing(made, status), api)
    raw = msgspec.json.decode(
        await api.send(Request(method="GET", path=PINNED_IMAGE_SETS.path(name="s")))
    )
    counts = {name: raw["status"].get(name) for name in ("nodeCount", "readyNodeCount")}
    assert counts == {"nodeCount": 0, "readyNodeCount": 0}


async def test_when_a_status_was_written_is_remembered_as_long_as_its_object(
    api: KubeClient,
) -> None:
    made = await api.create(PINNED_IMAGE_SETS, SET)
    caches, key = empty_caches(), Key("", "s")
    caches.sets.put(made)
    parts = tools(api, caches)
    reconciler = SetReconciler(parts)
    assert reconciler.status_at(key) is None
    await reconciler.apply(writing(made, PinnedImageSetStatus()))
    observed = await reconciler.observe(key)
    assert observed is not None
    assert observed.status_at == parts.clock.now()
    caches.sets.remove(key)
    assert reconciler.status_at(key) is None


async def test_a_status_does_not_reach_another_set_of_the_same_name(api: KubeClient) -> None:
    counted = await api.create(PINNED_IMAGE_SETS, SET)
    await api.delete(PINNED_IMAGE_SETS, "s")
    await api.create(PINNED_IMAGE_SETS, SET)
    status = PinnedImageSetStatus(node_count=1, ready_node_count=1)
    with pytest.raises(kube.Conflict):
        await apply.apply(writing(counted, status), api)
    assert (await api.get(PINNED_IMAGE_SETS, "s")).status == PinnedImageSetStatus()
