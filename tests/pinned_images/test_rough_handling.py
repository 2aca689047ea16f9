"""What people and machines do to a cluster unasked: it ends well, and never lies on the way."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lading.api.core import NODES
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNodeStatus,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.embedded import node as nodes
from lading.embedded.node import NodeDescription
from lading.pinned_images.node.types import PinSettings
from lading.pinned_images.reasons import ConditionType
from tests.pinned_images import whole_clusters
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Runtime
from tests.pinned_images.whole_clusters import CLOCK, WholeCluster

NODE = "node-1"
LISTENED_SECONDS = 4.0


def image(word: str) -> str:
    return whole_nodes.image_keys([word])[0].image


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[WholeCluster]:
    async with whole_clusters.opened(tmp_path, {NODE: Runtime()}) as made:
        yield made


class Overheard:
    """The statuses that agents wrote, and whether each claim in them was so at that moment."""

    def __init__(self, cluster: WholeCluster, *images: str) -> None:
        self._cluster = cluster
        self._images = set(images)
        self.lies: list[MachineConfigNodeStatus] = []
        self.count = 0
        cluster.line.on_status = self._hear

    def _hear(self, status: MachineConfigNodeStatus) -> None:
        self.count += 1
        claims = any(one.current_generation for one in status.pinned_image_sets)
        if claims and not self._images <= self._cluster.pinned(NODE):
            self.lies.append(status)


async def test_a_machine_config_node_that_is_deleted_by_hand_comes_back_and_is_true(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("s", image("a"))
    await cluster.until_held("s")
    before = await cluster.machine_config_node(NODE)
    await cluster.kube.delete(MACHINE_CONFIG_NODES, NODE)
    await cluster.until_held("s")
    after = await cluster.machine_config_node(NODE)
    assert before is not None
    assert after is not None
    assert before.metadata.uid != after.metadata.uid


async def test_a_status_that_is_wiped_by_hand_comes_back(cluster: WholeCluster) -> None:
    await cluster.make_set("s", image("a"))
    await cluster.until_held("s")
    wiped = {"status": {"pinnedImageSets": None, "conditions": None}}
    await cluster.kube.patch(MACHINE_CONFIG_NODES, NODE, wiped, subresource="status")
    await cluster.until_held("s")


async def test_a_node_that_is_deleted_and_joins_again_empty_claims_nothing_that_it_lacks(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("s", image("a"))
    await cluster.until_held("s")
    await cluster.kube.delete(NODES, NODE)
    overheard = Overheard(cluster, image("a"))
    cluster.runtimes[NODE].names.clear()
    cluster.runtimes[NODE].pins.clear()
    await nodes.register(cluster.kube, NodeDescription(name=NODE), CLOCK)
    await cluster.until_pinned(NODE, image("a"))
    node = await cluster.kube.get(NODES, NODE)

    async def is_described() -> bool:
        report = await cluster.machine_config_node(NODE)
        owners = report.metadata.owner_references if report else ()
        return [owner.uid for owner in owners] == [node.metadata.uid]

    await cluster.until(is_described, "the MachineConfigNode belongs to the new Node")
    await cluster.until_held("s")
    assert overheard.lies == []


async def test_an_entry_that_an_administrator_wrote_beside_ours_outlives_its_set(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("s", image("a"))
    await cluster.until_held("s")
    by_hand = {
        "apiVersion": MACHINE_CONFIG_POOLS.api_version,
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": {"name": "worker"},
        "spec": {"pinnedImageSets": [{"name": "s"}]},
    }
    await cluster.kube.apply(MACHINE_CONFIG_POOLS, by_hand, field_manager="person", force=True)
    await cluster.delete_set("s")
    await cluster.until_pinned(NODE)
    await cluster.make_set("s", image("b"), role="nowhere")
    await cluster.until_pinned(NODE, image("b"))


async def test_labels_that_flap_leave_the_node_with_what_the_last_one_says(
    cluster: WholeCluster,
) -> None:
    await cluster.make_pool("infra", nodeSelector={"matchLabels": {"infra": "yes"}})
    await cluster.make_set("common", image("common"))
    await cluster.make_set("special", image("special"), role="infra")
    for _ in range(10):
        await cluster.label(NODE, infra="yes")
        await cluster.label(NODE, infra=None)
    await cluster.label(NODE, infra="yes")
    await cluster.until_pinned(NODE, image("common"), image("special"))
    await cluster.label(NODE, infra=None)
    await cluster.until_pinned(NODE, image("common"))


async def test_a_set_that_is_edited_while_it_is_pulled_ends_with_the_last_edit(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("s", *(image(f"first-{number}") for number in range(500)))
    last = [image(f"last-{number}") for number in range(3)]
    for number in range(5):
        await cluster.edit_set("s", image(f"edit-{number}"), *last)
    await cluster.edit_set("s", *last)
    await cluster.until_held("s", generation=7)
    assert cluster.pinned(NODE) == set(last)


async def test_an_api_server_that_is_away_holds_up_neither_pull_nor_pin(
    cluster: WholeCluster,
) -> None:
    runtime = cluster.runtimes[NODE]
    runtime.gate.clear()
    await cluster.make_set("s", image("a"))
    await cluster.until_pulling(NODE)
    cluster.line.is_cut = True
    runtime.gate.set()
    await cluster.until_pinned(NODE, image("a"))
    await cluster.until_looked(NODE, times=2)
    cluster.line.is_cut = False
    await cluster.until_held("s")
    await cluster.until_event(NODE, "Pinned")


async def test_pins_that_cannot_be_written_are_reported_with_the_cause_and_written_later(
    cluster: WholeCluster,
) -> None:
    runtime = cluster.runtimes[NODE]
    runtime.pins_fault = OSError(30, "Read-only file system", "/var/lib/lading")
    await cluster.make_set("s", image("a"))
    await cluster.until_condition(
        NODE, ConditionType.SETS_DEGRADED, "PinningFailed", "Read-only file system"
    )
    runtime.pins_fault = None
    await cluster.until_held("s")
    await cluster.until_condition(NODE, ConditionType.SETS_DEGRADED, "AsExpected", "No errors")


async def test_a_runtime_that_is_away_is_waited_for_and_no_claim_is_lost(
    cluster: WholeCluster,
) -> None:
    await cluster.make_set("before", image("a"))
    await cluster.until_held("before")
    overheard = Overheard(cluster, image("a"))
    runtime = cluster.runtimes[NODE]
    runtime.is_away = True
    await cluster.make_set("s", image("b"))
    await cluster.until_looked(NODE, times=3)
    assert overheard.count == 0
    runtime.is_away = False
    await cluster.until_held("s")


async def test_two_agents_that_contradict_each_other_do_not_flood_the_api_server(
    cluster: WholeCluster, tmp_path: Path
) -> None:
    """Each answers what the other wrote, at once."""
    other = Runtime()
    other.gate.clear()
    overheard, began = Overheard(cluster), CLOCK.monotonic()
    await cluster.make_set("s", image("a"))
    async with whole_clusters.agent_running(tmp_path / "twin", NODE, other, cluster.line):
        await CLOCK.sleep(LISTENED_SECONDS)
    claims = 1 + (CLOCK.monotonic() - began) / PinSettings().news_interval_min.total_seconds()
    assert overheard.count <= 3 * claims, "each claim is made, withdrawn, and annotated"
