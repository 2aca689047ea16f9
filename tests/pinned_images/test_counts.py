"""What sets and pools count, on a whole cluster in memory: only what nodes really hold."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODE
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import conditions
from lading.kernel.objects import Resource
from lading.kernel.pacing import Pacing
from lading.loop import tasks
from lading.pinned_images import claims
from lading.pinned_images.reasons import ConditionType
from lading.ports.kube import PatchType, Selection
from tests.pinned_images import whole_clusters
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Runtime
from tests.pinned_images.whole_clusters import CLOCK, WholeCluster

NODE = "node-1"
SETS_OF_TWO_POOLS = 120


def image(word: str) -> str:
    return whole_nodes.image_keys([word])[0].image


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[WholeCluster]:
    async with whole_clusters.opened(tmp_path, {NODE: Runtime()}) as made:
        yield made


async def is_ready(cluster: WholeCluster, name: str) -> bool:
    status = (await cluster.kube.get(PINNED_IMAGE_SETS, name)).status
    return conditions.is_true(status.conditions, ConditionType.READY)


async def until_ready(cluster: WholeCluster, name: str) -> None:
    await cluster.until(lambda: is_ready(cluster, name), f"set {name} is Ready")


async def replace_set(cluster: WholeCluster, name: str, *images: str) -> None:
    """As `kubectl replace --force` does."""
    await cluster.delete_set(name)
    await cluster.make_set(name, *images)


async def test_a_set_made_again_is_never_ready_for_images_that_no_node_has(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("s", image("old"))
    await until_ready(cluster, "s")
    first = (await cluster.kube.get(PINNED_IMAGE_SETS, "s")).metadata
    cluster.runtimes[NODE].gate.clear()
    claimed: list[str] = []

    async def watch() -> None:
        stream = cluster.kube.watch(
            PINNED_IMAGE_SETS, resource_version=first.resource_version, timeout_seconds=60
        )
        async with contextlib.aclosing(stream) as events:
            async for event in events:
                if event.object is None or event.object.metadata.uid == first.uid:
                    continue
                if conditions.is_true(event.object.status.conditions, ConditionType.READY):
                    claimed.append(event.object.metadata.resource_version)

    async with tasks.started(watch()):
        await replace_set(cluster, "s", image("new"))
        await cluster.until_set_says("s", "Ready on 0 of 1 nodes")
        await cluster.until_looked(NODE, times=3)
        assert claimed == []
    cluster.runtimes[NODE].gate.set()
    await until_ready(cluster, "s")
    assert image("new") in cluster.pinned(NODE)


async def test_a_node_with_more_sets_than_its_status_can_list_is_counted_for_all(
    cluster: WholeCluster,
) -> None:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    await cluster.make_pool("edge", nodeSelector={"matchExpressions": [expression]})
    names = [f"s-{number:03}" for number in range(SETS_OF_TWO_POOLS)]
    for number, name in enumerate(names):
        await cluster.make_set(name, image("a"), role=("worker", "edge")[number % 2])
    for name in names:
        await until_ready(cluster, name)

    async def pool_is_updated() -> bool:
        pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, "edge")
        return [
            (one.machine_count, one.updated_machine_count)
            for one in pool.status.pool_synchronizers_status
        ] == [(1, 1)]

    await cluster.until(pool_is_updated, "the pool counts its machine as updated")
    report = await cluster.machine_config_node(NODE)
    assert report is not None
    assert {one.name for one in claims.reported(report)} == set(names)


async def test_where_the_definition_of_another_has_no_uid_it_is_in_an_annotation(
    cluster: WholeCluster,
) -> None:
    await use_definition_of_another(cluster)
    await cluster.make_set("s", image("a"))
    await until_ready(cluster, "s")
    found = await cluster.machine_config_node(NODE)
    assert found is not None
    assert [one.uid for one in found.status.pinned_image_sets] == [""]
    uid = (await cluster.kube.get(PINNED_IMAGE_SETS, "s")).metadata.uid
    assert claims.held(found) == {"s": (uid, 1)}
    await cluster.until_looked(NODE, times=3)
    again = await cluster.machine_config_node(NODE)
    assert again is not None
    assert again.metadata.resource_version == found.metadata.resource_version
    await cluster.delete_set("s")

    async def claims_nothing() -> bool:
        left = await cluster.machine_config_node(NODE)
        return left is not None and claims.ANNOTATION not in left.metadata.annotations

    await cluster.until(claims_nothing, "the annotation is gone with the set")


async def use_definition_of_another(cluster: WholeCluster) -> None:
    """The definition as another project has it: without our field."""
    field = "/schema/openAPIV3Schema/properties/status/properties/pinnedImageSets/items/properties"
    patch = [
        {"op": "remove", "path": f"/spec/versions/{number}{field}/uid"}
        for number in range(len(MACHINE_CONFIG_NODE.versions))
    ]
    await cluster.kube.patch(
        CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIG_NODE.name, patch, patch_type=PatchType.JSON
    )


async def test_a_rollout_costs_a_set_two_writes_and_a_pool_three(tmp_path: Path) -> None:
    async with whole_clusters.opened(tmp_path, {NODE: Runtime()}, settings=()) as cluster:
        await cluster.make_set("before", image("a"))
        await until_ready(cluster, "before")
        sets, pools = Seen(cluster, PINNED_IMAGE_SETS), Seen(cluster, MACHINE_CONFIG_POOLS)
        async with tasks.started(sets.watch("s")), tasks.started(pools.watch("worker")):
            await cluster.make_set("s", image("b"))
            await until_ready(cluster, "s")
            await CLOCK.sleep(2 * 2 * Pacing().debounce_seconds)
    assert len(sets.revisions) <= 1 + 2, "made; in progress, ready"
    assert len(pools.revisions) <= 1 + 3, "before; entered, in progress, updated"


class Seen:
    """The revisions of an object that every watcher gets."""

    def __init__(self, cluster: WholeCluster, resource: Resource[Any]) -> None:
        self._cluster = cluster
        self._resource = resource
        self.revisions: set[str] = set()

    async def watch(self, name: str) -> None:
        only = Selection(field_selector=f"metadata.name={name}")
        stream = self._cluster.kube.watch(self._resource, only, timeout_seconds=60)
        async with contextlib.aclosing(stream) as events:
            async for event in events:
                if event.object is not None:
                    self.revisions.add(event.resource_version)
