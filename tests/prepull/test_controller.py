"""The controller on an API server in memory, with nodes that are played."""

from collections.abc import AsyncIterator

import pytest

from lading.prepull import holder
from lading.prepull.rules import listed_name
from lading.prepull.types import ListedImage
from tests.prepull.clusters import PrePullCluster, opened, playing, running
from tests.prepull.worlds import A, B


@pytest.fixture
async def cluster() -> AsyncIterator[PrePullCluster]:
    async with opened() as one:
        yield one


def name_of(name: str, url: str) -> str:
    return listed_name(ListedImage(name=name, url=url))


async def test_a_fresh_install_holds_the_listed_images(cluster: PrePullCluster) -> None:
    for name in ("node-a", "node-b"):
        await cluster.make_node(name)
    async with playing(cluster), running(cluster, ("share-manager", A), ("instance-manager", B)):
        await cluster.until_state("deploying", name_of("share-manager", A))
        await cluster.until_state("deployed")
    found = await cluster.images()
    assert set(found) == {name_of("share-manager", A), name_of("instance-manager", B)}
    for one in found.values():
        assert one.status.node_deployment_map == {"node-a": True, "node-b": True}
    made = await cluster.daemon_set()
    assert made is not None
    assert {one.uid for one in made.metadata.owner_references} == {
        one.metadata.uid for one in found.values()
    }
    containers = made.spec["template"]["spec"]["containers"]
    assert {one["name"] for one in containers} == {
        holder.container_name(A),
        holder.container_name(B),
    }
