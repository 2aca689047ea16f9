"""The fleet counts what changed, and arrives where counting everything anew would."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from lading.api.machineconfiguration.machine_config_node import NodePinnedImageSet
from lading.kernel.conditions import Condition
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.loop.informer import Informer
from lading.pinned_images import claims
from lading.pinned_images.cluster import fleet as fleet_module
from lading.pinned_images.cluster import rules
from lading.pinned_images.cluster.fleet import ClusterCaches, Fleet, Listener
from tests.pinned_images.cluster.build import (
    applied,
    empty_caches,
    image_set,
    machine_config_node,
    node,
    pool,
)
from tests.pinned_images.cluster.oracle import Oracle

HISTORIES = settings().max_examples // 2
CHANGES_MAX = 30
NODES = st.sampled_from([f"n-{number}" for number in range(4)])
SETS = st.sampled_from(["s", "t", "u"])
POOLS = st.sampled_from(["worker", "infra", "edge"])
LABELS = st.dictionaries(st.sampled_from(["infra", "gpu"]), st.just("yes"))
SELECTORS = st.sampled_from(
    [None, {"matchLabels": {"infra": "yes"}}, {"matchLabels": {"gpu": "yes"}}]
)


class AnyFleet(RuleBasedStateMachine):
    """Real caches and a real fleet; what a test changes comes in as from a watch."""

    def __init__(self) -> None:
        super().__init__()
        self.caches: ClusterCaches = empty_caches()
        self.fleet = Fleet(self.caches)
        self.revisions = itertools.count(1)
        self.uids = itertools.count(1)
        self.counts_at_each_step = True

    def put(self, informer: Informer[Any], one: Any) -> None:
        metadata = replace(one.metadata, resource_version=str(next(self.revisions)))
        informer.put(replace(one, metadata=metadata))

    @rule(name=NODES, labels=LABELS, ready=st.booleans(), control_plane=st.booleans())
    def a_node_is(
        self, name: str, labels: dict[str, str], ready: bool, control_plane: bool
    ) -> None:
        made = node(name, ready=ready, control_plane=control_plane, **labels)
        self.put(self.caches.nodes, made)

    @rule(name=NODES)
    def a_node_goes(self, name: str) -> None:
        self.caches.nodes.remove(Key("", name))

    @rule(name=POOLS, entries=st.sets(SETS), selector=SELECTORS)
    def a_pool_is(self, name: str, entries: set[str], selector: dict[str, Any] | None) -> None:
        own = {"nodeSelector": selector} if name != "worker" else {}
        self.put(self.caches.pools, pool(name, sets=tuple(sorted(entries)), **own))

    @rule(name=POOLS)
    def a_pool_goes(self, name: str) -> None:
        self.caches.pools.remove(Key("", name))

    @rule(name=SETS, selector=SELECTORS)
    def a_set_is_edited(self, name: str, selector: dict[str, Any] | None) -> None:
        before = self.caches.sets.get(Key("", name))
        uid = before.metadata.uid if before else f"uid-{next(self.uids)}"
        generation = before.metadata.generation + 1 if before else 1
        made = image_set(name, uid=uid, generation=generation, nodeSelector=selector)
        self.put(self.caches.sets, made)

    @rule(name=SETS)
    def a_set_is_replaced(self, name: str) -> None:
        """The watch may show the new one only."""
        self.put(self.caches.sets, image_set(name, uid=f"uid-{next(self.uids)}"))

    @rule(name=SETS)
    def a_set_is_being_deleted(self, name: str) -> None:
        before = self.caches.sets.get(Key("", name))
        if before is not None:
            deleted = replace(before.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            self.put(self.caches.sets, replace(before, metadata=deleted))

    @rule(name=SETS)
    def a_set_goes(self, name: str) -> None:
        self.caches.sets.remove(Key("", name))

    @rule(
        name=NODES,
        sets=st.dictionaries(SETS, st.sampled_from(["held", "failed", "older"])),
        reason=st.sampled_from(["", "NoSpace", "PrefetchFailed"]),
    )
    def a_node_reports(self, name: str, sets: dict[str, str], reason: str) -> None:
        report = machine_config_node(name, degraded=bool(reason), reason=reason or "AsExpected")
        entries = [self.entry(one, how) for one, how in sorted(sets.items())]
        status = replace(report.status, pinned_image_sets=tuple(entries))
        self.put(self.caches.machine_config_nodes, replace(report, status=status))

    def entry(self, name: str, how: str) -> Any:
        found = self.caches.sets.get(Key("", name))
        uid = found.metadata.uid if found else "gone"
        generation = found.metadata.generation if found else 1
        held = {"held": generation, "older": generation - 1, "failed": 0}[how]
        failed = generation if how == "failed" else 0
        return NodePinnedImageSet(
            name=name,
            uid=uid,
            current_generation=held,
            desired_generation=generation,
            last_failed_generation=failed,
            last_failed_generation_errors=("it broke",) if failed else (),
        )

    @rule(name=NODES)
    def a_report_goes(self, name: str) -> None:
        self.caches.machine_config_nodes.remove(Key("", name))

    @rule(each=st.booleans())
    def it_is_counted_at_each_step(self, each: bool) -> None:
        """Otherwise many changes are counted together."""
        self.counts_at_each_step = each

    @invariant()
    def it_counts_right(self) -> None:
        if self.counts_at_each_step:
            self.check()

    def teardown(self) -> None:
        self.check()

    def check(self) -> None:
        asyncio.run(self.fleet.recount())
        oracle = Oracle(self.caches)
        for name, one in oracle.nodes.items():
            assert self.fleet.node_state(name).primary_pool == oracle.primary_pool(one)
        for name in ("worker", "infra", "edge"):
            assert self.fleet.pool_counts(name) == oracle.pool_counts(name)
        for name in oracle.sets:
            assert self.fleet.set_counts(name) == oracle.set_counts(name)
        gone = {"s", "t", "u"} - oracle.sets.keys()
        assert not gone & {name for name, _ in self.fleet.every_set()}


@pytest.mark.hypothesis
def test_whatever_changes_the_counts_are_those_of_counting_everything_anew() -> None:
    run_state_machine_as_test(
        AnyFleet, settings=settings(max_examples=HISTORIES, stateful_step_count=CHANGES_MAX)
    )


FLEET = 5000
READERS = 12  # the workers of three controllers
SETS_OF_FLEET = tuple(f"set-{number:02}" for number in range(20))


@pytest.fixture
def large() -> ClusterCaches:
    caches = empty_caches()
    for number in range(FLEET):
        caches.nodes.put(node(f"n-{number}", zone=f"z-{number % 3}"))
        held = dict.fromkeys(SETS_OF_FLEET, 1)
        caches.machine_config_nodes.put(machine_config_node(f"n-{number}", holds=held))
    for name in SETS_OF_FLEET:
        caches.sets.put(image_set(name))
    caches.pools.put(pool(sets=SETS_OF_FLEET))
    return caches


class Turns:
    """Counts the turns of the event loop, and the nodes that were counted in the busiest one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes_in_turn = [0]
        real = rules.node_state

        def counting(*args: Any) -> Any:
            self.nodes_in_turn[-1] += 1
            return real(*args)

        monkeypatch.setattr(rules, "node_state", counting)

    async def count(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.nodes_in_turn.append(0)

    async def during(self, fleet: Fleet) -> None:
        counting = asyncio.create_task(self.count())
        await asyncio.sleep(0)
        await asyncio.gather(*(fleet.recount() for _ in range(READERS)))
        counting.cancel()


async def test_no_count_of_a_large_fleet_holds_the_event_loop(
    large: ClusterCaches, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, turns = Fleet(large), Turns(monkeypatch)
    await turns.during(fleet)
    assert fleet.set_counts("set-00").ready_node_count == FLEET
    assert sum(turns.nodes_in_turn) == FLEET
    assert max(turns.nodes_in_turn) <= fleet_module.NODES_PER_SLICE


@pytest.mark.parametrize(
    ("change", "recounted"),
    [
        (lambda caches: caches.nodes.put(versioned(node("n-7", zone="z-1"))), 0),
        (lambda caches: caches.nodes.put(versioned(node("n-7", ready=False, zone="z-1"))), 1),
        (lambda caches: caches.machine_config_nodes.remove(Key("", "n-7")), 1),
        (lambda caches: caches.pools.put(versioned(pool(sets=SETS_OF_FLEET, generation=9))), 0),
        (lambda caches: caches.sets.put(versioned(image_set("elsewhere"))), 0),
        (lambda caches: caches.sets.put(versioned(image_set("set-00", generation=2))), FLEET),
    ],
    ids=[
        "a heartbeat of a node costs nothing",
        "a node that is not ready any more costs that node",
        "a report costs its node",
        "the status of a pool costs nothing",
        "a set that no pool has costs nothing",
        "a new generation costs the nodes of its pools",
    ],
)
async def test_a_count_costs_what_changed(
    large: ClusterCaches, monkeypatch: pytest.MonkeyPatch, change: Any, recounted: int
) -> None:
    fleet = Fleet(large)
    await fleet.recount()
    turns = Turns(monkeypatch)
    change(large)
    await fleet.recount()
    assert sum(turns.nodes_in_turn) == recounted


async def test_a_report_wakes_its_pool_and_the_sets_that_count_differently(
    large: ClusterCaches,
) -> None:
    fleet, woken = Fleet(large), {"nodes": set[str](), "pools": set[str](), "sets": set[str]()}
    await fleet.recount()
    fleet.listen(
        Listener(
            nodes=woken["nodes"].update, pools=woken["pools"].update, sets=woken["sets"].update
        )
    )
    held = dict.fromkeys(SETS_OF_FLEET[1:], 1)
    large.machine_config_nodes.put(versioned(machine_config_node("n-7", holds=held)))
    await fleet.recount()
    assert woken == {"nodes": set(), "pools": {"worker"}, "sets": {"set-00"}}


async def test_facts_never_mix_a_new_generation_with_counts_of_the_old_one(
    large: ClusterCaches,
) -> None:
    """Counting a large fleet takes several turns; another reader comes in between."""
    fleet = Fleet(large)
    await fleet.recount()
    large.sets.put(versioned(image_set("set-00", generation=2)))
    first = asyncio.create_task(fleet.recount())
    await asyncio.sleep(0)
    assert not first.done()
    await fleet.recount()
    assert fleet.set_counts("set-00").ready_node_count == 0
    await first


async def test_a_claim_that_only_the_annotation_has_is_counted_at_once() -> None:
    caches = empty_caches()
    fleet = Fleet(caches)
    caches.sets.put(image_set("s"))
    caches.pools.put(pool(sets=("s",)))
    caches.nodes.put(node("n"))
    report = machine_config_node("n")
    caches.machine_config_nodes.put(report)
    await fleet.recount()
    assert fleet.set_counts("s").ready_node_count == 0
    annotations = {claims.ANNOTATION: '{"s":["uid-s",1]}'}
    metadata = replace(report.metadata, annotations=annotations)
    caches.machine_config_nodes.put(versioned(replace(report, metadata=metadata)))
    await fleet.recount()
    assert fleet.set_counts("s").ready_node_count == 1


async def test_a_report_that_takes_the_place_of_an_earlier_nodes_is_counted() -> None:
    """A list may show only the second of the two, with the same claims."""
    caches = empty_caches()
    fleet = Fleet(caches)
    caches.sets.put(image_set("s"))
    caches.pools.put(pool(sets=("s",)))
    caches.nodes.put(node("n"))
    report = machine_config_node("n", holds={"s": 1})
    earlier = replace(report.metadata.owner_references[0], uid="earlier")
    metadata = replace(report.metadata, owner_references=(earlier,))
    caches.machine_config_nodes.put(replace(report, metadata=metadata))
    await fleet.recount()
    assert fleet.set_counts("s").ready_node_count == 0
    caches.machine_config_nodes.put(versioned(report))
    await fleet.recount()
    assert fleet.set_counts("s").ready_node_count == 1


def versioned(one: Any) -> Any:
    metadata = replace(one.metadata, resource_version="2")
    return replace(one, metadata=metadata)


async def test_a_pool_that_names_a_missing_set_reports_it() -> None:
    caches, pools = empty_caches(), set[str]()
    fleet = Fleet(caches)
    fleet.listen(Listener(nodes=set[str]().update, pools=pools.update, sets=set[str]().update))
    caches.sets.put(versioned(image_set("there")))
    entered = applied("ours")
    caches.pools.put(versioned(pool(sets=("there", "lost", "ours"), managed=entered)))
    condition = sets_degraded(fleet)
    assert (condition.status.value, condition.reason) == ("True", "SetNotFound")
    assert condition.message == "The pool names sets that do not exist: lost"
    caches.sets.put(versioned(image_set("lost")))
    assert pools == {"worker"}, "its status must be written again"
    assert sets_degraded(fleet).status.value == "False"
    pools.clear()
    caches.sets.remove(Key("", "there"))
    assert pools == {"worker"}
    assert sets_degraded(fleet).message == "The pool names sets that do not exist: there"


async def test_a_missing_set_hides_no_error_of_a_node() -> None:
    caches = empty_caches()
    fleet = Fleet(caches)
    caches.sets.put(versioned(image_set("s")))
    caches.pools.put(versioned(pool(sets=("s", "lost"))))
    caches.nodes.put(versioned(node("n")))
    caches.machine_config_nodes.put(versioned(machine_config_node("n", error="it broke")))
    await fleet.recount()
    condition = sets_degraded(fleet)
    assert condition.reason == "NodesDegraded"
    assert "do not exist: lost. 1 of 1 nodes" in condition.message
    assert "it broke" in condition.message


def sets_degraded(fleet: Fleet) -> Condition:
    (condition,) = fleet.pool_facts("worker").conditions
    return condition
