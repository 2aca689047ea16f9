"""Scenarios with older releases: what one of them cannot do is reported, and the rest is done."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import conditions
from lading.pinned_images.reasons import ConditionType, Reason
from lading.ports.cri import ImageSpec
from tests.e2e import expectations, programs, waiting
from tests.e2e.cluster import POOL, ClusterUnderTest, NodeUnderTest

IGNORES_PINS, HONOURS_PINS = "v1.28.1", "v1.28.2"


@pytest.mark.asyncio(loop_scope="session")
class KubeletSkewScenarios:
    """On any cluster: a kubelet's release is what its Node says."""

    async def test_a_kubelet_that_ignores_pins_is_named_until_it_is_updated(
        self, cluster: ClusterUnderTest
    ) -> None:
        image, node = await cluster.push("kubelet"), cluster.nodes[0]
        await cluster.make_set("kubelet", image)
        await cluster.until_done("kubelet")
        async with kubelet_of_its_own(cluster, node):
            reason = Reason.PINS_IGNORED
            await until_with_kubelet(
                cluster, node, IGNORES_PINS,
                lambda: expectations.is_degraded(cluster, node, reason, naming=IGNORES_PINS),
            )  # fmt: skip
            await until_with_kubelet(
                cluster, node, IGNORES_PINS, lambda: pool_counts(cluster, reason)
            )
            assert image in await node.pinned()
            assert (await cluster.reported_set(node, "kubelet")).current_generation == 1
            await until_with_kubelet(
                cluster, node, HONOURS_PINS, lambda: expectations.is_healthy(cluster, node)
            )


@pytest.mark.asyncio(loop_scope="session")
class RuntimeCannotPinScenarios:
    """On a cluster with runtimes that know no pins."""

    async def test_images_are_preloaded_and_the_status_says_that_they_are_not_pinned(
        self, cluster: ClusterUnderTest
    ) -> None:
        images = {await cluster.push(f"unpinnable/{number}") for number in range(3)}
        await cluster.make_set("unpinnable", *images)
        for node in cluster.nodes:
            release = (await node.cri.version()).version
            await expectations.until_degraded(cluster, node, Reason.CANNOT_PIN, naming=release)
            assert await node.present() >= images
            assert not await node.pinned()
            assert not await node.owners()
            await node.agent.kill()
            assert "unpinned 0 images" in await programs.run(*node.cleanup)
            await node.agent.start()
            entry = await cluster.reported_set(node, "unpinnable")
            assert (entry.current_generation, entry.last_failed_generation) == (0, 1)
            assert release in entry.last_failed_generation_errors[0]
        await waiting.until(
            lambda: set_names_every_node(cluster, "unpinnable"),
            "the set is not Ready and names every node",
        )

    async def test_an_image_that_is_removed_by_hand_comes_back_all_the_same(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("kept")
        await cluster.make_set("kept", image)
        for node in cluster.nodes:
            await until_present(node, image)
            with node.agent.asleep():
                await node.cri.remove(ImageSpec(image=image))
                assert image not in await node.present()
            await until_present(node, image)

    async def test_an_edit_is_preloaded_all_the_same(self, cluster: ClusterUnderTest) -> None:
        before, after = await cluster.push("before"), await cluster.push("after")
        await cluster.make_set("edited", before)
        for node in cluster.nodes:
            await expectations.until_degraded(cluster, node, Reason.CANNOT_PIN, naming="edited")
        await cluster.edit_set("edited", after)
        for node in cluster.nodes:
            await until_present(node, after)
            await waiting.until(
                lambda node=node: has_failed(cluster, node, "edited", generation=2),  # type: ignore[misc]
                f"{node.name} says that it cannot pin generation 2",
            )


@contextlib.asynccontextmanager
async def kubelet_of_its_own(cluster: ClusterUnderTest, node: NodeUnderTest) -> AsyncIterator[None]:
    """Whatever release is written there meanwhile, the node's own is there afterwards."""
    own = (await cluster.kube.get(NODES, node.name)).status.node_info.kubelet_version
    try:
        yield
    finally:
        await write_kubelet_version(cluster, node, own)


async def until_with_kubelet(
    cluster: ClusterUnderTest,
    node: NodeUnderTest,
    version: str,
    is_so: Callable[[], Awaitable[bool]],
) -> None:
    """Writes the release at every look: a real kubelet corrects it within ten seconds."""

    async def looked() -> bool:
        await write_kubelet_version(cluster, node, version)
        return await is_so()

    await waiting.until(looked, f"{node.name} reports what follows from kubelet {version}")


async def write_kubelet_version(
    cluster: ClusterUnderTest, node: NodeUnderTest, version: str
) -> None:
    patch = {"status": {"nodeInfo": {"kubeletVersion": version}}}
    await cluster.kube.patch(NODES, node.name, patch, subresource="status")


async def pool_counts(cluster: ClusterUnderTest, reason: Reason) -> bool:
    """The pool sums up the trouble, and is not degraded by it."""
    found = (await cluster.kube.get(MACHINE_CONFIG_POOLS, POOL)).status.conditions
    summary = conditions.find(found, ConditionType.SETS_DEGRADED)
    assert not conditions.is_true(found, ConditionType.DEGRADED)
    return summary is not None and f"1 {reason}" in summary.message


async def set_names_every_node(cluster: ClusterUnderTest, name: str) -> bool:
    status = (await cluster.kube.get(PINNED_IMAGE_SETS, name)).status
    named = {failure.node for failure in status.failures}
    ready = conditions.is_true(status.conditions, ConditionType.READY)
    return named == {node.name for node in cluster.nodes} and not ready


async def has_failed(
    cluster: ClusterUnderTest, node: NodeUnderTest, name: str, *, generation: int
) -> bool:
    entry = await cluster.reported_set(node, name)
    return (entry.current_generation, entry.last_failed_generation) == (0, generation)


async def until_present(node: NodeUnderTest, image: str) -> None:
    async def is_present() -> bool:
        return image in await node.present()

    await waiting.until(is_present, f"{image} is on {node.name}")
