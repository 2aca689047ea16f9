"""What the cluster does about nodes, pools and sets."""

from datetime import timedelta

import msgspec
import pytest

from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet, PinnedImageSetStatus
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.pinned_images.cluster import plan
from lading.pinned_images.cluster.types import (
    ApplyMachineConfigNode,
    AssignSetsToPool,
    CreatePool,
    WriteSetStatus,
)
from lading.pinned_images.reasons import ConditionType
from lading.pools.types import WritePoolStatus
from tests.pinned_images.cluster.build import (
    NOW,
    ROLE,
    Cluster,
    applied,
    image_set,
    machine_config_node,
    node,
    only,
    plan_node,
    plan_pool,
    plan_pool_status,
    plan_set,
    pool,
)


def test_a_missing_default_pool_is_made_and_others_are_not() -> None:
    made = only(plan_pool("worker", Cluster()), CreatePool)
    assert made.spec == plan.DEFAULT_POOLS["worker"]
    assert plan_pool("infra", Cluster()).actions == ()


def test_sets_are_assignedby_label_and_only_once() -> None:
    world = Cluster(
        pools=(pool(),), sets=(image_set("b"), image_set("a"), image_set("m", role="master"))
    )
    assigned = only(plan_pool("worker", world), AssignSetsToPool)
    assert assigned.sets == ("a", "b")
    done = Cluster(pools=(pool(sets=("a", "b"), managed=applied("a", "b")),), sets=world.sets)
    assert only(plan_pool("worker", done), AssignSetsToPool) is None


def test_a_set_that_no_longer_matches_is_taken_out_and_an_entry_by_hand_stays() -> None:
    by_hand = pool(sets=("hand", "gone"), managed=applied("gone"))
    assigned = only(plan_pool("worker", Cluster(pools=(by_hand,))), AssignSetsToPool)
    assert assigned.sets == ()
    only_hand = pool(sets=("hand",), managed=[])
    assert only(plan_pool("worker", Cluster(pools=(only_hand,))), AssignSetsToPool) is None


def test_a_pool_without_a_selector_takes_sets_by_the_role_label() -> None:
    custom = pool("infra", machineConfigSelector=None)
    world = Cluster(pools=(custom,), sets=(image_set("i", role="infra"), image_set("w")))
    assert only(plan_pool("infra", world), AssignSetsToPool).sets == ("i",)


def test_a_custom_pool_may_take_the_sets_of_workers_too() -> None:
    selector = {
        "matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", "infra"]}]
    }
    custom = pool("infra", machineConfigSelector=selector)
    world = Cluster(pools=(custom,), sets=(image_set("i", role="infra"), image_set("w")))
    assert only(plan_pool("infra", world), AssignSetsToPool).sets == ("i", "w")


def test_every_node_gets_a_machine_config_node_that_names_its_primary_pool() -> None:
    infra = pool("infra", nodeSelector={"matchLabels": {"infra": "yes"}})
    world = Cluster(nodes=(node("n", infra="yes"),), pools=(pool(), infra))
    action = only(plan_node("n", world), ApplyMachineConfigNode)
    assert (action.node.metadata.name, action.pool) == ("n", "infra")


def test_a_described_node_is_left_alone_until_its_pool_or_its_uid_changes() -> None:
    world = Cluster(
        nodes=(node("n"),), pools=(pool(),), machine_config_nodes=(machine_config_node("n"),)
    )
    assert plan_node("n", world).actions == ()
    moved = Cluster(
        nodes=world.nodes, pools=(pool("other"),), machine_config_nodes=(machine_config_node("n"),)
    )
    assert only(plan_node("n", moved), ApplyMachineConfigNode).pool == "other"


def test_a_node_that_is_registered_again_does_not_inherit_claims() -> None:
    again = replace(node("n"), metadata=replace(node("n").metadata, uid="another"))
    report = machine_config_node("n", holds={"s": 1})
    world = Cluster(
        nodes=(again,),
        pools=(pool(sets=("s",)),),
        sets=(image_set("s"),),
        machine_config_nodes=(report,),
    )
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.node_count, status.ready_node_count) == (1, 0)
    assert plan_node("n", world).actions == (), "the garbage collector deletes the earlier report"
    without = Cluster(nodes=world.nodes, pools=world.pools, sets=world.sets)
    assert only(plan_node("n", without), ApplyMachineConfigNode).node == again


def test_the_pool_counts_only_nodes_that_hold_the_generation_that_exists_now() -> None:
    world = Cluster(
        nodes=(node("a"), node("b"), node("c", ready=False)),
        pools=(pool(sets=("s",)),),
        sets=(image_set("s", generation=2),),
        machine_config_nodes=(
            machine_config_node("a", holds={"s": 2}),
            machine_config_node("b", holds={"s": 1}),
            machine_config_node("c", holds={"s": 2}),
        ),
    )
    (counts,) = only(
        plan_pool_status("worker", world, NOW), WritePoolStatus
    ).status.pool_synchronizers_status
    assert counts.machine_count == 3
    assert counts.updated_machine_count == 2
    assert counts.ready_machine_count == 1
    assert (counts.available_machine_count, counts.unavailable_machine_count) == (2, 1)
    assert counts.observed_generation == 0


def test_the_synchronizer_observes_the_last_generation_that_every_machine_has() -> None:
    def counted(found: MachineConfigPool, *done: str) -> MachineConfigPoolStatus:
        cluster = Cluster(
            nodes=(node("a"), node("b")),
            pools=(found,),
            sets=(image_set(),),
            machine_config_nodes=tuple(machine_config_node(one, holds={"s": 1}) for one in done),
        )
        status: MachineConfigPoolStatus = only(
            plan_pool_status("worker", cluster, NOW), WritePoolStatus
        ).status
        return status

    first = counted(pool(sets=("s",)), "a", "b")
    assert [one.observed_generation for one in first.pool_synchronizers_status] == [4]
    newer = pool(sets=("s",), generation=7)
    progressing = counted(replace(newer, status=first), "a")
    assert [one.observed_generation for one in progressing.pool_synchronizers_status] == [4]
    done = counted(replace(newer, status=progressing), "a", "b")
    assert [one.observed_generation for one in done.pool_synchronizers_status] == [7]
    made_again = pool(sets=("s",), generation=1)
    other = counted(replace(made_again, status=done), "a")
    assert [one.observed_generation for one in other.pool_synchronizers_status] == [0]


def test_a_node_of_a_custom_pool_is_counted_there_only_and_holds_the_sets_of_workers_too() -> None:
    infra = pool("infra", sets=("i",), nodeSelector={"matchLabels": {"infra": "yes"}})
    cluster = Cluster(
        nodes=(node("a", infra="yes"), node("b")),
        pools=(pool(sets=("s",)), infra),
        sets=(image_set("s"), image_set("i", role="infra")),
        machine_config_nodes=(
            machine_config_node("a", holds={"i": 1}),
            machine_config_node("b", holds={"s": 1}),
        ),
    )

    def counts(name: str) -> tuple[int, int]:
        status = only(plan_pool_status(name, cluster, NOW), WritePoolStatus).status
        (found,) = status.pool_synchronizers_status
        return found.machine_count, found.updated_machine_count

    assert (counts("worker"), counts("infra")) == ((1, 1), (1, 0))
    status = only(plan_set("s", cluster, NOW), WriteSetStatus).status
    assert (status.node_count, status.ready_node_count) == (2, 1)


def test_what_a_node_holds_of_another_set_of_the_same_name_does_not_count() -> None:
    def ready(image_set_: PinnedImageSet) -> int:
        cluster = Cluster(
            nodes=(node("a"),),
            pools=(pool(sets=("s",)),),
            sets=(image_set_,),
            machine_config_nodes=(machine_config_node("a", holds={"s": 1}),),
        )
        status = only(plan_set("s", cluster, NOW), WriteSetStatus).status
        count: int = status.ready_node_count
        return count

    assert ready(image_set("s")) == 1
    assert ready(image_set("s", uid="made-again")) == 0


def test_a_set_that_becomes_ready_or_degraded_is_an_event() -> None:
    cluster = Cluster(nodes=(node("a"),), pools=(pool(sets=("s",)),), sets=(image_set(),))

    def events(report: MachineConfigNode, status: PinnedImageSetStatus) -> list[tuple[str, bool]]:
        written = (replace(cluster.sets[0], status=status),)
        later = replace(cluster, sets=written, machine_config_nodes=(report,))
        found = plan_set("s", later, NOW)
        return [(one.reason, one.warning) for one in found.actions if isinstance(one, RecordEvent)]

    start = only(plan_set("s", cluster, NOW), WriteSetStatus).status
    assert events(machine_config_node("a", holds={"s": 1}), start) == [("Ready", False)]
    assert events(machine_config_node("a", error="image is gone"), start) == [("Degraded", True)]
    failing = replace(cluster, machine_config_nodes=(machine_config_node("a", error="gone"),))
    failed = only(plan_set("s", failing, NOW), WriteSetStatus).status
    assert events(machine_config_node("a"), failed) == [("Recovered", False)]


def test_a_node_that_no_pool_selects_is_an_event() -> None:
    """On a new cluster the default pools are not there yet: that is no event."""
    unselected = (node("n", control_plane=True),)
    assert not plan_node("n", Cluster(nodes=unselected, pools=(pool(),))).actions
    pools = (pool("worker"), pool("master"))
    (event,) = plan_node("n", Cluster(nodes=unselected, pools=pools)).actions
    assert isinstance(event, RecordEvent)
    assert event.reason == "NoPool"


def test_only_no_space_degrades_the_pool_and_other_errors_are_summed_up() -> None:
    world = Cluster(
        nodes=(node("a"), node("b")),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(
            machine_config_node("a", error="image is gone"),
            machine_config_node("b", holds={"s": 1}),
        ),
    )
    status = only(plan_pool_status("worker", world, NOW), WritePoolStatus).status
    assert not conditions.is_true(status.conditions, ConditionType.DEGRADED)
    summary = conditions.find(status.conditions, ConditionType.SETS_DEGRADED)
    assert summary is not None
    assert summary.message == "1 of 2 nodes report a problem (1 PrefetchFailed): a: image is gone"
    full = Cluster(
        nodes=world.nodes,
        pools=world.pools,
        sets=world.sets,
        machine_config_nodes=(machine_config_node("a", error="no space for x", reason="NoSpace"),),
    )
    degraded = conditions.find(
        only(plan_pool_status("worker", full, NOW), WritePoolStatus).status.conditions,
        ConditionType.DEGRADED,
    )
    assert degraded is not None
    assert degraded.status is Truth.TRUE
    assert degraded.message == "a: no space for x"


def test_the_set_names_the_nodes_that_fail() -> None:
    world = Cluster(
        nodes=(node("a"), node("b")),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(
            machine_config_node("a", error="image is gone"),
            machine_config_node("b", holds={"s": 1}),
        ),
    )
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.node_count, status.ready_node_count, status.failed_node_count) == (2, 1, 1)
    assert [(one.node, one.message) for one in status.failures] == [("a", "image is gone")]


def test_an_error_about_a_deleted_set_of_the_same_name_is_no_failure_of_the_new_one() -> None:
    world = Cluster(
        nodes=(node("a"),),
        pools=(pool(sets=("s",)),),
        sets=(image_set(uid="made-again"),),
        machine_config_nodes=(machine_config_node("a", error="image is gone"),),
    )
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.failed_node_count, status.failures) == (0, ())


def test_an_error_that_is_over_is_no_failure_of_the_set_although_the_node_still_lists_it() -> None:
    world = Cluster(
        nodes=(node("a"),),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(machine_config_node("a", error="no room", degraded=False),),
    )
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.failed_node_count, status.failures) == (0, ())
    assert not conditions.is_true(status.conditions, ConditionType.DEGRADED)


def test_many_nodes_in_trouble_are_counted_and_a_few_are_named() -> None:
    names = [f"n-{number:02}" for number in range(20)]
    world = Cluster(
        nodes=tuple(map(node, names)),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=tuple(machine_config_node(name, error="x" * 5000) for name in names),
    )
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    assert status.failed_node_count == 20
    assert len(status.failures) == 10
    assert all(len(one.message) <= 1024 for one in (*status.failures, *status.conditions))
    short = replace(
        world, machine_config_nodes=tuple(machine_config_node(name, error="bad") for name in names)
    )
    summary = conditions.find(
        only(plan_pool_status("worker", short, NOW), WritePoolStatus).status.conditions,
        ConditionType.SETS_DEGRADED,
    )
    assert summary is not None
    assert summary.message == (
        "20 of 20 nodes report a problem (20 PrefetchFailed): "
        "n-00: bad; n-01: bad; n-02: bad; and 17 more nodes"
    )


def test_a_set_that_is_being_deleted_is_taken_out_of_its_pool() -> None:
    one = image_set("s")
    metadata = replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    world = Cluster(
        pools=(pool(sets=("s",), managed=applied("s")),),
        sets=(replace(one, metadata=metadata),),
    )
    assert only(plan_pool("worker", world), AssignSetsToPool).sets == ()


GPU_ONLY = {"matchLabels": {"gpu": "yes"}}


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (
            Cluster(pools=(pool(),), sets=(image_set(role="typo"),)),
            f"No pool selects this set: set its label {ROLE} to the name of a pool",
        ),
        (
            Cluster(pools=(pool(sets=("s",)),), sets=(image_set(),)),
            "The pools that have this set have no node: worker",
        ),
        (
            Cluster(
                nodes=(node("a"),),
                pools=(pool(sets=("s",)),),
                sets=(image_set(nodeSelector=GPU_ONLY),),
            ),
            "nodeSelector matches no node of the pools that have this set: worker",
        ),
        (
            Cluster(
                pools=(pool(sets=tuple(f"other-{number}" for number in range(100))),),
                sets=(image_set(),),
            ),
            "Pool worker already has 100 sets, which is the maximum; remove a set from it",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_set_that_reaches_no_node_says_why(world: Cluster, message: str) -> None:
    status = only(plan_set("s", world, NOW), WriteSetStatus).status
    ready = conditions.find(status.conditions, ConditionType.READY)
    assert ready is not None
    assert ready.status is Truth.FALSE
    assert ready.message == message


def test_a_full_pool_keeps_the_sets_it_has_and_the_entries_of_others() -> None:
    """A list that is too long would be refused whole, and so would the sets that fit."""
    entered = tuple(f"m-{number:03}" for number in range(98))
    full = pool(sets=("by-hand", *entered), managed=applied(*entered))
    sets = tuple(image_set(name) for name in ("a-new", "z-new", *entered))
    action = only(plan_pool("worker", Cluster(pools=(full,), sets=sets)), AssignSetsToPool)
    assert action.sets == ("a-new", *entered)


def test_an_entry_that_a_person_wrote_too_takes_its_place_also_when_we_take_ours_back() -> None:
    entered = tuple(f"m-{number:03}" for number in range(99))
    both = [*applied("shared", *entered), *applied("shared", by="kubectl")]
    full = pool(sets=("shared", *entered), managed=both)
    sets = tuple(image_set(name) for name in ("new", *entered))
    action = only(plan_pool("worker", Cluster(pools=(full,), sets=sets)), AssignSetsToPool)
    assert action.sets == entered


def test_what_another_operator_configures_is_left_alone() -> None:
    theirs = pool(sets=("s",), configuration={"name": "rendered-worker-1"})
    described = msgspec.convert(
        {
            "metadata": {"name": "n"},
            "spec": {
                "node": {"name": "n"},
                "pool": {"name": "elsewhere"},
                "configVersion": {"desired": "rendered-worker-1"},
            },
        },
        MachineConfigNode,
    )
    world = Cluster(nodes=(node("n"),), pools=(theirs,), machine_config_nodes=(described,))
    assert plan_pool("worker", world).actions == ()
    assert plan_pool_status("worker", world, NOW).actions == ()
    assert plan_node("n", world).actions == ()


def test_a_new_set_gets_its_first_status_when_its_pools_have_it() -> None:
    new = Cluster(nodes=(node("a"),), pools=(pool(),), sets=(image_set(),))
    assert plan_set("s", new, NOW) == Plan()
    moved = replace(new, pools=(pool(sets=("s",)), pool("infra", machineConfigSelector=None)))
    status = only(plan_set("s", moved, NOW), WriteSetStatus).status
    relabelled = replace(image_set(role="infra"), status=status)
    again = replace(moved, pools=(pool(), moved.pools[1]), sets=(relabelled,))
    ready = conditions.find(
        only(plan_set("s", again, NOW), WriteSetStatus).status.conditions, ConditionType.READY
    )
    assert ready is not None
    assert (ready.reason, ready.message) == ("InProgress", "The set is being added to pool infra")


def test_the_first_status_of_a_new_set_in_a_large_fleet_waits_for_news() -> None:
    made = image_set()
    created = replace(made.metadata, creation_timestamp="2026-01-01T00:00:00Z")
    cluster = Cluster(
        nodes=tuple(node(f"n-{number}") for number in range(30)),
        pools=(pool(sets=("s",)),),
        sets=(replace(made, metadata=created),),
    )
    assert plan_set("s", cluster, NOW) == Plan(recheck_at=NOW + timedelta(milliseconds=300))
    late = plan_set("s", cluster, NOW + timedelta(milliseconds=300))
    assert only(late, WriteSetStatus).status.node_count == 30


@pytest.mark.parametrize("change", ["a node lost an image", "a node fails", "a node joins"])
def test_a_claim_of_a_set_is_withdrawn_at_once_however_often_it_was_written(change: str) -> None:
    nodes = tuple(node(f"n-{number}") for number in range(50))
    reports = tuple(machine_config_node(one.metadata.name, holds={"s": 1}) for one in nodes)
    all_ready = Cluster(
        nodes=nodes,
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=reports,
    )
    ready = only(plan_set("s", all_ready, NOW), WriteSetStatus).status
    worse = {
        "a node lost an image": (machine_config_node("n-0"), *reports[1:]),
        "a node fails": (machine_config_node("n-0", error="gone"), *reports[1:]),
        "a node joins": reports,
    }[change]
    lost = replace(
        all_ready,
        nodes=(*nodes, node("new")) if change == "a node joins" else nodes,
        sets=(replace(image_set(), status=ready),),
        machine_config_nodes=worse,
        status_at=NOW,
    )
    status = only(plan_set("s", lost, NOW), WriteSetStatus).status
    assert not conditions.is_true(status.conditions, ConditionType.READY)
    back = replace(all_ready, sets=(replace(image_set(), status=status),), status_at=NOW)
    assert plan_set("s", back, NOW) == Plan(recheck_at=NOW + timedelta(milliseconds=500))


def test_a_count_of_ready_nodes_is_withdrawn_at_once() -> None:
    nodes = tuple(node(f"n-{number}") for number in range(50))
    reports = tuple(machine_config_node(f"n-{number}", holds={"s": 1}) for number in range(40))
    world = Cluster(
        nodes=nodes,
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=reports,
        status_at=NOW,
    )
    first = only(plan_set("s", world, NOW + timedelta(hours=1)), WriteSetStatus).status
    fewer = replace(
        world,
        sets=(replace(image_set(), status=first),),
        machine_config_nodes=reports[1:],
    )
    assert only(plan_set("s", fewer, NOW), WriteSetStatus).status.ready_node_count == 39


def test_a_change_of_state_in_a_large_fleet_is_written_at_once() -> None:
    cluster = Cluster(
        nodes=tuple(node(f"n-{number}") for number in range(50)),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
    )
    failing = replace(cluster, machine_config_nodes=(machine_config_node("n-7", error="gone"),))
    assert only(plan_set("s", failing, NOW), WriteSetStatus).status.failed_node_count == 1
    reports = tuple(machine_config_node(f"n-{number}", holds={"s": 1}) for number in range(50))
    all_ready = replace(cluster, machine_config_nodes=reports)
    ready = only(plan_set("s", all_ready, NOW), WriteSetStatus).status
    assert conditions.is_true(ready.conditions, ConditionType.READY)
    edited = image_set(generation=2)
    again = replace(all_ready, sets=(replace(edited, status=ready),))
    status = only(plan_set("s", again, NOW), WriteSetStatus).status
    assert (status.observed_generation, status.ready_node_count) == (2, 0)


def test_progress_is_written_at_its_interval_only() -> None:
    nodes = tuple(node(f"n-{number}") for number in range(13))
    pools, sets = (pool(sets=("s",)),), (image_set(),)
    first = only(
        plan_set("s", Cluster(nodes=nodes, pools=pools, sets=sets), NOW), WriteSetStatus
    ).status
    written = (replace(sets[0], status=first),)
    world = Cluster(
        nodes=nodes,
        pools=pools,
        sets=written,
        machine_config_nodes=(machine_config_node("n-0", holds={"s": 1}),),
        status_at=NOW,
    )
    early = plan_set("s", world, NOW + timedelta(seconds=5))
    assert early == Plan(recheck_at=NOW + timedelta(seconds=30))
    late = plan_set("s", world, NOW + timedelta(seconds=30))
    assert only(late, WriteSetStatus).status.ready_node_count == 1
    after_the_clock_was_set_back = plan_set("s", world, NOW - timedelta(hours=1))
    assert only(after_the_clock_was_set_back, WriteSetStatus).status.ready_node_count == 1


def test_that_a_set_has_nodes_now_is_written_at_once() -> None:
    before = Cluster(pools=(pool(sets=("s",)),), sets=(image_set(),))
    first = only(plan_set("s", before, NOW), WriteSetStatus).status
    assert first.node_count == 0
    entered = Cluster(
        nodes=(node("a"),),
        pools=before.pools,
        sets=(replace(before.sets[0], status=first),),
        status_at=NOW,
    )
    then = plan_set("s", entered, NOW + timedelta(seconds=1))
    assert only(then, WriteSetStatus).status.node_count == 1


def test_that_all_machines_of_a_pool_are_done_is_written_at_once() -> None:
    names = [f"n-{number}" for number in range(12)]
    nodes, sets = tuple(map(node, names)), (image_set(),)

    def world(found: MachineConfigPool, *done: str, written: bool) -> Cluster:
        return Cluster(
            nodes=nodes,
            pools=(found,),
            sets=sets,
            machine_config_nodes=tuple(machine_config_node(name, holds={"s": 1}) for name in done),
            status_at=NOW if written else None,
        )

    before = pool(sets=("s",), managed=applied("s"))
    first = only(plan_pool_status("worker", world(before, written=False), NOW), WritePoolStatus)
    written = replace(before, status=first.status)
    soon = NOW + timedelta(seconds=5)
    assert plan_pool_status("worker", world(written, "n-0", written=True), soon).actions == ()
    done = plan_pool_status("worker", world(written, *names, written=True), soon)
    (counts,) = only(done, WritePoolStatus).status.pool_synchronizers_status
    assert counts.updated_machine_count == 12


def test_nothing_is_written_when_nothing_changed() -> None:
    nodes, sets = (node("a"),), (image_set(),)
    pools = (pool(sets=("s",), managed=applied("s")),)
    mcns = (machine_config_node("a", holds={"s": 1}),)
    world = Cluster(nodes=nodes, pools=pools, sets=sets, machine_config_nodes=mcns)
    pool_status = only(plan_pool_status("worker", world, NOW), WritePoolStatus).status
    set_status = only(plan_set("s", world, NOW), WriteSetStatus).status
    steady = Cluster(
        nodes=nodes,
        pools=(replace(pools[0], status=pool_status),),
        sets=(replace(sets[0], status=set_status),),
        machine_config_nodes=mcns,
    )
    later = NOW + timedelta(days=1)
    assert plan_pool("worker", steady) == Plan()
    assert plan_pool_status("worker", steady, later) == Plan()
    assert plan_set("s", steady, later) == Plan()
    assert plan_node("a", steady) == Plan()
