"""Scenarios of the controller: switched off, killed, and one of two replicas.

The next leader waits until the lease of a killed leader ends, so these scenarios are slow.
"""

import asyncio

import pytest

from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.kernel import conditions
from lading.pinned_images.cluster import controller
from lading.pinned_images.reasons import ConditionType, Reason
from tests.e2e import expectations, programs, repeatable, waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.programs import Program

BUSY_SECONDS_MAX = 0.5
"""How long after it was given work a controller is killed at the latest."""
SETS_MEANWHILE = 3
WRITING_METHODS = ("POST", "PUT", "PATCH", "DELETE")


@pytest.mark.asyncio(loop_scope="session")
class ControllerScenarios:
    async def test_another_controller_takes_over_at_once_when_one_is_stopped(
        self, cluster: ClusterUnderTest
    ) -> None:
        assert await cluster.controller.stop() == 0
        image = await cluster.push("takeover")
        await cluster.make_set("takeover", image)
        await cluster.controller.start()
        await cluster.until_done("takeover")

    async def test_a_controller_with_the_gate_off_takes_its_sets_back_from_pools(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("gate")
        await cluster.make_set("gate", image)
        await cluster.until_done("gate")
        assert await cluster.controller.stop() == 0
        await cluster.controller.start("--feature-gates=PinnedImages=false")
        for node in cluster.nodes:
            await cluster.until_unpinned(node, {image})
            assert image in await node.present()
        await waiting.until(lambda: says_gate_is_off(cluster, "gate"), "the set says why")
        assert await cluster.controller.stop() == 0
        await cluster.controller.start()
        await expectations.until_set_is_ready(cluster, "gate")
        for node in cluster.nodes:
            assert image in await node.pinned()

    async def test_a_controller_that_is_killed_while_sets_progress_goes_on_where_it_was(
        self, cluster: ClusterUnderTest
    ) -> None:
        rng = repeatable.rng()
        image = await cluster.push("killed")
        await until_leading(cluster.controller)
        await cluster.door.shut()  # so that no set is done before the kill
        await cluster.make_set("begun", image)
        await cluster.make_set("given-up", image)
        await asyncio.sleep(rng.uniform(0, BUSY_SECONDS_MAX))
        await cluster.controller.kill()
        await cluster.delete_set("given-up")
        await cluster.make_set("late", image)
        await cluster.door.open()
        await cluster.controller.start()
        await until_leading(cluster.controller)
        for name in ("begun", "late"):
            await expectations.until_set_is_ready(cluster, name)
        await expectations.until_pool_is_done(cluster)
        assert await expectations.entries(cluster) == {"begun", "late"}

    async def test_of_two_replicas_one_writes_and_the_other_takes_over_when_it_is_killed(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("replicas")
        await until_leading(cluster.controller)
        async with programs.another(cluster.controller) as replica:
            await make_set_and_wait(cluster, "led", image)
            assert await writes(cluster.controller) > 0
            assert await writes(replica) == 0
            before = await expectations.revisions(cluster)
            await cluster.controller.kill()
            await until_leading(replica)
            await waiting.until(lambda: has_looked(replica), "the other has looked at everything")
            assert await expectations.revisions(cluster) == before
            await make_set_and_wait(cluster, "inherited", image)


@pytest.mark.asyncio(loop_scope="session")
class PausedLeaderScenarios:
    """What a process does that was stopped and goes on hangs on no server; once is enough."""

    async def test_a_leader_that_stood_still_too_long_writes_nothing_when_it_goes_on(
        self, cluster: ClusterUnderTest
    ) -> None:
        image = await cluster.push("asleep")
        await until_leading(cluster.controller)
        async with programs.another(cluster.controller) as replica:
            with cluster.controller.asleep():
                await until_leading(replica)
                for number in range(SETS_MEANWHILE):
                    await make_set_and_wait(cluster, f"meanwhile-{number}", image)
                logged_bytes = cluster.controller.log_bytes()
            assert await cluster.controller.ended() == 1
            assert "applying" not in cluster.controller.events_since(logged_bytes)
            assert await leads(replica)


async def make_set_and_wait(cluster: ClusterUnderTest, name: str, image: str) -> None:
    await cluster.make_set(name, image)
    await expectations.until_set_is_ready(cluster, name)
    await expectations.until_pool_is_done(cluster)


async def leads(program: Program) -> bool:
    return await program.counted("lading_leader{") == 1


async def until_leading(program: Program) -> None:
    await waiting.until(lambda: leads(program), f"{program.name} leads")


async def writes(program: Program) -> float:
    counts = [
        await program.counted(f'lading_client_request_seconds_count{{method="{method}"}}')
        for method in WRITING_METHODS
    ]
    return sum(counts)


async def has_looked(program: Program) -> bool:
    """Each of its reconcile pipelines was walked, and nothing waits."""
    walked = [
        await program.counted(f'lading_reconciles_total{{controller="{name}",outcome="success"}}')
        for name in controller.NAMES
    ]
    return all(walked) and await program.counted("lading_queue_depth{") == 0


async def says_gate_is_off(cluster: ClusterUnderTest, name: str) -> bool:
    status = (await cluster.kube.get(PINNED_IMAGE_SETS, name)).status
    ready = conditions.find(status.conditions, ConditionType.READY)
    return ready is not None and ready.reason == Reason.GATE_OFF
