"""What Lading does with pinned image sets, written once for every cluster that it can run on.

Each scenario acts on the cluster as a person would and asserts the state of the world: what the
runtime holds and pins, and what the cluster says about it.
"""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest

from lading.api.core import EVENTS, NODES
from lading.kernel.conditions import Truth
from lading.pinned_images.node import rules
from lading.pinned_images.reasons import ConditionType, Reason
from lading.pinned_images.types import Progress
from lading.ports.cri import ImageSpec
from lading.ports.kube import Selection
from tests.e2e import expectations, programs, repeatable, waiting
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest

RECONCILES = 'lading_reconciles_total{controller="pinned-images-node",outcome="success"}'
CRASHES = 3
ROUNDS = 3
LABEL = "lading.dev/end-to-end"


@pytest.mark.asyncio(loop_scope="session")
class PinnedImageScenarios:
    async def test_a_set_is_preloaded_and_pinned_and_everybody_says_so(
        self, cluster: ClusterUnderTest
    ) -> None:
        images = {await cluster.push(f"preload/{number}") for number in range(3)}
        await cluster.make_set("preload", *images)
        await cluster.until_done("preload")
        for node in cluster.nodes:
            assert await node.pinned() >= images
            assert set((await node.owners()).values()) == {("preload",)}
        await expectations.until_set_is_ready(cluster, "preload")
        await expectations.until_pool_is_done(cluster)
        await waiting.until(lambda: has_event(cluster, "Pinned"), "an event says that it is pinned")

    async def test_an_edited_set_keeps_its_old_pins_until_the_new_ones_are_complete(
        self, cluster: ClusterUnderTest
    ) -> None:
        old, new = await cluster.push("edit/old"), await cluster.push("edit/new")
        await cluster.make_set("edited", old)
        await cluster.until_done("edited")
        absent = cluster.absent_image()
        await cluster.edit_set("edited", new, absent)
        for node in cluster.nodes:
            await expectations.until_degraded(cluster, node, Reason.PREFETCH_FAILED, naming=absent)
            entry = await cluster.reported_set(node, "edited")
            assert (entry.current_generation, entry.desired_generation) == (1, 2)
            assert old in await node.pinned()
        await cluster.edit_set("edited", new)
        await cluster.until_done("edited", generation=3)
        for node in cluster.nodes:
            assert new in await node.pinned()
            await cluster.until_unpinned(node, {old})

    async def test_a_deleted_set_unpins_its_own_images_and_no_others(
        self, cluster: ClusterUnderTest
    ) -> None:
        kept, gone = await cluster.push("delete/kept"), await cluster.push("delete/gone")
        await cluster.make_set("kept", kept)
        await cluster.make_set("gone", gone)
        await cluster.until_done("kept")
        await cluster.until_done("gone")
        await cluster.delete_set("gone")
        for node in cluster.nodes:
            await cluster.until_unpinned(node, {gone})
            assert kept in await node.pinned()
            assert gone in await node.present()

    async def test_an_image_of_two_sets_stays_pinned_while_one_of_them_is_left(
        self, cluster: ClusterUnderTest
    ) -> None:
        shared = await cluster.push("shared")
        await cluster.make_set("first", shared)
        await cluster.make_set("second", shared)
        await cluster.until_done("first")
        await cluster.until_done("second")
        await cluster.delete_set("first")
        for node in cluster.nodes:
            await waiting.until(
                lambda node=node: is_owned_by(node, shared, ("second",)),  # type: ignore[misc]
                "the pin belongs to the second set alone",
            )
            assert shared in await node.pinned()
        await cluster.delete_set("second")
        for node in cluster.nodes:
            await cluster.until_unpinned(node, {shared})

    async def test_a_missing_image_degrades_the_node_by_name_and_an_edit_heals_it(
        self, cluster: ClusterUnderTest
    ) -> None:
        good = await cluster.push("healing")
        absent = cluster.absent_image()
        await cluster.make_set("healing", good, absent)
        await cluster.make_set("bystander", good)
        for node in cluster.nodes:
            await expectations.until_degraded(cluster, node, Reason.PREFETCH_FAILED, naming=absent)
            entry = await cluster.reported_set(node, "healing")
            assert entry.last_failed_generation == 1
            assert absent in entry.last_failed_generation_errors[0]
        await cluster.until_done("bystander")
        await cluster.edit_set("healing", good)
        await cluster.until_done("healing", generation=2)
        for node in cluster.nodes:
            await expectations.until_healthy(cluster, node)

    async def test_an_image_that_is_removed_by_hand_comes_back(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("removed")
        await cluster.make_set("removed", image)
        await cluster.until_done("removed")
        node = cluster.nodes[0]
        with node.agent.asleep():
            await node.cri.remove(ImageSpec(image=image))
            assert image not in await node.present()
        await cluster.until_pinned(node, {image})

    async def test_a_pin_that_is_removed_by_hand_comes_back(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("unpinned")
        await cluster.make_set("unpinned", image)
        await cluster.until_done("unpinned")
        node = cluster.nodes[0]
        with node.agent.asleep():
            await node.pins.write(())
            await cluster.until_unpinned(node, {image})
        await cluster.until_pinned(node, {image})

    async def test_a_set_takes_only_the_nodes_that_it_selects(
        self, cluster: ClusterUnderTest
    ) -> None:
        selected, everywhere = await cluster.push("selected"), await cluster.push("everywhere")
        await cluster.make_set("selected", selected, node_labels={LABEL: "yes"})
        await cluster.make_set("everywhere", everywhere)
        await cluster.until_done("everywhere")
        for node in cluster.nodes:
            assert selected not in await node.present()
        chosen = cluster.nodes[0]
        await label(cluster, chosen, "yes")
        await cluster.until_node_is_done(chosen, "selected")
        for node in cluster.nodes[1:]:
            assert selected not in await node.present()
        await label(cluster, chosen, None)
        await cluster.until_unpinned(chosen, {selected})

    async def test_an_agent_that_is_killed_at_any_moment_goes_on_where_it_was(
        self, cluster: ClusterUnderTest
    ) -> None:
        node, rng = cluster.nodes[0], repeatable.rng()
        images = {await cluster.push(f"crash/{number}", size_bytes=1 << 20) for number in range(6)}
        await cluster.make_set("crash", *images)
        for _ in range(CRASHES):
            await asyncio.sleep(rng.uniform(0, 0.5))
            await node.agent.kill()
            assert await node.pinned() & images <= await node.present()
            await node.agent.start()
            await node.agent.ready()
        await cluster.until_done("crash")
        assert await node.pinned() >= images

    async def test_a_registry_that_is_gone_is_waited_for(self, cluster: ClusterUnderTest) -> None:
        image = await cluster.push("waiting")
        await cluster.door.shut()
        await cluster.make_set("waiting", image)
        for node in cluster.nodes:
            await until_a_pull_failed(node)
            progressing = await cluster.condition(node, ConditionType.SETS_PROGRESSING)
            degraded = await cluster.condition(node, ConditionType.SETS_DEGRADED)
            assert progressing is not None
            assert progressing.status is Truth.TRUE
            assert degraded is not None
            took_long = await pull_attempts(node) >= rules.TRANSIENT_FAILURES_MAX
            assert degraded.status is Truth.FALSE or took_long
        await cluster.door.open()
        await cluster.until_done("waiting")

    async def test_a_set_made_again_is_not_ready_before_its_new_images_are_there(
        self, cluster: ClusterUnderTest
    ) -> None:
        """As `kubectl replace --force` and `kubectl wait` meet: same name, same generation."""
        old, new = await cluster.push("again/old"), await cluster.push("again/new")
        await cluster.make_set("again", old)
        await expectations.until_set_is_ready(cluster, "again")
        await cluster.door.shut()
        await cluster.delete_set("again")
        await cluster.make_set("again", new)
        for node in cluster.nodes:
            await until_a_pull_failed(node)
        assert not await expectations.set_is_ready(cluster, "again")
        await cluster.door.open()
        await expectations.until_set_is_ready(cluster, "again")
        for node in cluster.nodes:
            assert new in await node.pinned()

    async def test_a_node_with_the_gate_off_holds_no_pin_of_ours(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("gated")
        await cluster.make_set("gated", image)
        await cluster.until_done("gated")
        node = cluster.nodes[0]
        assert await node.agent.stop() == 0
        await node.agent.start("--feature-gates=PinnedImages=false")
        await cluster.until_unpinned(node, {image})
        assert image in await node.present()
        await node.agent.kill()
        await node.agent.start()
        await cluster.until_pinned(node, {image})

    async def test_a_cleaned_up_node_holds_no_pin_of_ours(self, cluster: ClusterUnderTest) -> None:
        images = {await cluster.push(f"cleanup/{number}") for number in range(2)}
        await cluster.make_set("cleanup", *images)
        await cluster.until_done("cleanup")
        node = cluster.nodes[0]
        await node.agent.kill()
        assert "unpinned 2 images" in await programs.run(*node.cleanup)
        assert not await node.pinned() & images
        assert await node.present() >= images

    async def test_a_steady_cluster_costs_nothing(self, cluster: ClusterUnderTest) -> None:
        image = await cluster.push("steady")
        await cluster.make_set("steady", image)
        await cluster.until_done("steady")
        await expectations.until_set_is_ready(cluster, "steady")
        await expectations.until_pool_is_done(cluster)
        node = cluster.nodes[0]
        before = await expectations.revisions(cluster)
        connections = cluster.door.passed_count
        reconciles = await node.agent.counted(RECONCILES)
        await waiting.until(
            lambda: has_reconciled(node, reconciles + ROUNDS), f"{ROUNDS} rounds passed"
        )
        assert await expectations.revisions(cluster) == before
        assert cluster.door.passed_count == connections


async def has_reconciled(node: NodeUnderTest, times: float) -> bool:
    return await node.agent.counted(RECONCILES) >= times


async def has_event(cluster: ClusterUnderTest, reason: str) -> bool:
    events = (await cluster.kube.page(EVENTS, Selection(namespace="default"))).items
    return {node.name for node in cluster.nodes} <= {
        one.regarding.name for one in events if one.reason == reason
    }


async def until_a_pull_failed(node: NodeUnderTest) -> None:
    """Asks the agent itself: the status does not tell while it may still go well."""

    async def has_failed() -> bool:
        return any(pull.error for pull in (await progress(node)).pulls)

    await waiting.until(has_failed, f"a pull failed on {node.name}")


async def pull_attempts(node: NodeUnderTest) -> int:
    """The most that any pull has had by now; on a busy machine that may be many."""
    return max(pull.attempts for pull in (await progress(node)).pulls)


async def progress(node: NodeUnderTest) -> Progress:
    return msgspec.json.decode(await node.agent.get("/pinned-images"), type=Progress)


async def is_owned_by(node: NodeUnderTest, image: str, owners: Iterable[str]) -> bool:
    return (await node.owners()).get(image) == tuple(owners)


async def label(cluster: ClusterUnderTest, node: NodeUnderTest, value: str | None) -> None:
    await cluster.kube.patch(NODES, node.name, {"metadata": {"labels": {LABEL: value}}})
