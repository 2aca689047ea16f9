"""The nodes of a cluster that is started again with other ones."""

from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.api.core import NODES
from lading.standalone import cluster
from lading.standalone.cluster import ClusterOptions
from lading.standalone.node import NodeDescription


async def started_with(data: Path, *names: str, by_hand: str = "") -> set[str]:
    """The Nodes there are after a start with nodes of these names."""
    options = ClusterOptions(data=data, nodes=tuple(NodeDescription(name=name) for name in names))
    async with cluster.open_cluster(options, SystemClock()) as made:
        if by_hand:
            await made.kube.create(NODES, {"metadata": {"name": by_hand}})
        return {one.metadata.name async for one in made.kube.each(NODES)}


async def test_nodes_that_no_longer_run_are_forgotten_and_come_back(tmp_path: Path) -> None:
    assert await started_with(tmp_path, "a", "b") == {"a", "b"}
    assert await started_with(tmp_path, "a") == {"a"}
    assert await started_with(tmp_path, "a", "b") == {"a", "b"}


async def test_a_node_that_an_administrator_made_stays(tmp_path: Path) -> None:
    assert await started_with(tmp_path, "a", by_hand="mine") == {"a", "mine"}
    assert await started_with(tmp_path, "a") == {"a", "mine"}
