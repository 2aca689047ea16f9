"""The nodes of a cluster: what they show, and what stays when it is started again."""

from pathlib import Path
from typing import Any

from lading.adapters.clock import SystemClock
from lading.api.core import NODES
from lading.embedded import cluster, sample_sets
from lading.embedded.cluster import ClusterOptions
from lading.embedded.node import NodeDescription
from lading.kernel.objects import Resource
from lading.kernel.values import replace


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


async def test_a_node_shows_what_users_of_kubectl_expect(tmp_path: Path) -> None:
    node = NodeDescription(name="a", capacity_bytes=5 * 1024**2)
    options = ClusterOptions(data=tmp_path, nodes=(node,))
    async with cluster.open_cluster(options, SystemClock()) as made:
        nodes: Resource[Any] = NODES
        found = await made.kube.get(replace(nodes, type=dict[str, Any]), "a")
        parts = made.nodes[0].parts
        (images,) = (await parts.runtime.cri.filesystems()).images
        space = await parts.disk.space(images.mountpoint)
    assert space is not None
    assert space.capacity_bytes == 5 * 1024**2
    status = found["status"]
    assert "node-role.kubernetes.io/worker" in found["metadata"]["labels"]
    assert status["nodeInfo"]["kubeletVersion"].startswith("v1.")
    assert status["nodeInfo"]["containerRuntimeVersion"].startswith("lading://")
    assert status["capacity"]["ephemeral-storage"] == str(5 * 1024**2)
    assert {"type": "InternalIP", "address": "127.0.0.1"} in status["addresses"]
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert (conditions["Ready"], conditions["DiskPressure"]) == ("True", "False")


async def test_each_node_has_its_status_pages(tmp_path: Path) -> None:
    options = ClusterOptions(
        data=tmp_path, nodes=(NodeDescription(name="a"), NodeDescription(name="b"))
    )
    async with cluster.open_cluster(options, SystemClock()) as made:
        pages = cluster.status_pages(made).keys()
    for process in ("", "/nodes/a", "/nodes/b"):
        assert {f"{process}/{page}" for page in ("metrics", "healthz", "readyz")} <= pages


async def test_a_first_set_that_was_edited_stays(tmp_path: Path) -> None:
    options = ClusterOptions(data=tmp_path, nodes=(NodeDescription(name="a"),))
    file = tmp_path / sample_sets.SET_FILE
    async with cluster.open_cluster(options, SystemClock()) as made:
        await sample_sets.write_first(made, tmp_path)
        edited = f"{file.read_text()}# edited\n"
        file.write_text(edited)
        await sample_sets.write_first(made, tmp_path)
        assert file.read_text() == edited
        file.write_text(edited.replace(made.registry_host, "127.0.0.1:1"))
        await sample_sets.write_first(made, tmp_path)
        assert made.registry_host in file.read_text(), "of another registry, nothing can be pulled"
