"""What the cluster does about nodes, pools and sets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Plan
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import plan, report, rules
from lading.pinned_images.cluster.types import (
    CreatePool,
    DescribeNode,
    EnterSets,
    World,
    WritePoolStatus,
    WriteSetStatus,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROLE = "machineconfiguration.openshift.io/role"
IMAGE = "quay.io/app@sha256:" + "a" * 64


def node(name: str, *, ready: bool = True, control_plane: bool = False, **labels: str) -> Node:
    if control_plane:
        labels = {**labels, membership.CONTROL_PLANE_LABEL: ""}
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        },
        Node,
    )


def pool(name: str = "worker", sets: tuple[str, ...] = (), **spec: Any) -> MachineConfigPool:
    body = {**plan.DEFAULT_POOLS["worker"], "pinnedImageSets": [{"name": one} for one in sets]}
    metadata = {"name": name, "generation": 4, "managedFields": spec.pop("managed", [])}
    return msgspec.convert({"metadata": metadata, "spec": {**body, **spec}}, MachineConfigPool)


def image_set(
    name: str = "s", *, role: str = "worker", generation: int = 1, **spec: Any
) -> PinnedImageSet:
    return msgspec.convert(
        {
            "metadata": {"name": name, "generation": generation, "labels": {ROLE: role}},
            "spec": {"pinnedImages": [{"name": IMAGE}], **spec},
        },
        PinnedImageSet,
    )


def said(
    name: str,
    *,
    holds: dict[str, int] | None = None,
    error: str = "",
    reason: str = "PrefetchFailed",
    degraded: bool | None = None,
) -> MachineConfigNode:
    sets = [
        {"name": one, "currentGeneration": number, "desiredGeneration": number}
        for one, number in (holds or {}).items()
    ]
    if error:
        sets = [
            {
                "name": "s",
                "desiredGeneration": 1,
                "lastFailedGeneration": 1,
                "lastFailedGenerationErrors": [error],
            }
        ]
    wrong = bool(error) if degraded is None else degraded
    condition = {"type": "PinnedImageSetsDegraded", "status": str(wrong), "reason": reason}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": name, "uid": f"uid-{name}"}
                ],
            },
            "spec": {"node": {"name": name}, "pool": {"name": "worker"}},
            "status": {"conditions": [{**condition, "message": error}], "pinnedImageSets": sets},
        },
        MachineConfigNode,
    )


def applied(*names: str, by: str = rules.FIELD_MANAGER) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}} for name in names}
    return [
        {
            "manager": by,
            "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:pinnedImageSets": fields}},
        }
    ]


def only(found: Plan, type_: type[Any]) -> Any:
    actions = [action for action in found.actions if isinstance(action, type_)]
    assert len(actions) <= 1
    return actions[0] if actions else None


def test_a_missing_default_pool_is_made_and_others_are_not() -> None:
    made = only(plan.plan_pool("worker", World(), NOW), CreatePool)
    assert made.spec == plan.DEFAULT_POOLS["worker"]
    assert plan.plan_pool("infra", World(), NOW).actions == ()


def test_a_node_without_a_role_label_is_a_worker() -> None:
    assert membership.node_is_in_pool(node("n"), pool())
    assert not membership.node_is_in_pool(node("n", control_plane=True), pool())


def test_sets_are_entered_by_label_and_only_once() -> None:
    world = World(
        pools=(pool(),), sets=(image_set("b"), image_set("a"), image_set("m", role="master"))
    )
    entered = only(plan.plan_pool("worker", world, NOW), EnterSets)
    assert entered.sets == ("a", "b")
    done = World(pools=(pool(sets=("a", "b"), managed=applied("a", "b")),), sets=world.sets)
    assert only(plan.plan_pool("worker", done, NOW), EnterSets) is None


def test_a_set_that_no_longer_matches_is_taken_out_and_an_entry_by_hand_stays() -> None:
    by_hand = pool(sets=("hand", "gone"), managed=applied("gone"))
    entered = only(plan.plan_pool("worker", World(pools=(by_hand,)), NOW), EnterSets)
    assert entered.sets == ()
    only_hand = pool(sets=("hand",), managed=[])
    assert only(plan.plan_pool("worker", World(pools=(only_hand,)), NOW), EnterSets) is None


def test_a_pool_without_a_selector_takes_sets_by_the_role_label() -> None:
    custom = pool("infra", machineConfigSelector=None)
    world = World(pools=(custom,), sets=(image_set("i", role="infra"), image_set("w")))
    assert only(plan.plan_pool("infra", world, NOW), EnterSets).sets == ("i",)


def test_a_custom_pool_may_take_the_sets_of_workers_too() -> None:
    selector = {
        "matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", "infra"]}]
    }
    custom = pool("infra", machineConfigSelector=selector)
    world = World(pools=(custom,), sets=(image_set("i", role="infra"), image_set("w")))
    assert only(plan.plan_pool("infra", world, NOW), EnterSets).sets == ("i", "w")


def test_every_node_gets_a_machine_config_node_that_names_its_primary_pool() -> None:
    infra = pool("infra", nodeSelector={"matchLabels": {"infra": "yes"}})
    world = World(nodes=(node("n", infra="yes"),), pools=(pool(), infra))
    action = only(plan.plan_node("n", world), DescribeNode)
    assert (action.node.metadata.name, action.pool) == ("n", "infra")


def test_a_described_node_is_left_alone_until_its_pool_or_its_uid_changes() -> None:
    world = World(nodes=(node("n"),), pools=(pool(),), machine_config_nodes=(said("n"),))
    assert plan.plan_node("n", world).actions == ()
    moved = World(nodes=world.nodes, pools=(pool("other"),), machine_config_nodes=(said("n"),))
    assert only(plan.plan_node("n", moved), DescribeNode).pool == "other"


def test_a_node_takes_the_sets_of_all_its_pools_that_select_it() -> None:
    infra = pool("infra", sets=("i",), nodeSelector={"matchLabels": {"infra": "yes"}})
    narrow = image_set("narrow", nodeSelector={"matchLabels": {"gpu": "yes"}})
    sets = (image_set("i"), image_set("w"), narrow)
    pools = (pool(sets=("w", "narrow")), infra)
    names = [
        one.metadata.name for one in membership.sets_of_node(node("n", infra="yes"), pools, sets)
    ]
    assert names == ["i", "w"]
    gpu = [one.metadata.name for one in membership.sets_of_node(node("n", gpu="yes"), pools, sets)]
    assert gpu == ["narrow", "w"]


def test_the_pool_counts_only_nodes_that_hold_the_generation_that_exists_now() -> None:
    world = World(
        nodes=(node("a"), node("b"), node("c", ready=False)),
        pools=(pool(sets=("s",)),),
        sets=(image_set("s", generation=2),),
        machine_config_nodes=(
            said("a", holds={"s": 2}),
            said("b", holds={"s": 1}),
            said("c", holds={"s": 2}),
        ),
    )
    (counts,) = only(
        plan.plan_pool("worker", world, NOW), WritePoolStatus
    ).status.pool_synchronizers_status
    assert counts.machine_count == 3
    assert counts.updated_machine_count == 2
    assert counts.ready_machine_count == 1
    assert (counts.available_machine_count, counts.unavailable_machine_count) == (2, 1)
    assert counts.observed_generation == 4


def test_only_no_space_degrades_the_pool_and_other_errors_are_summed_up() -> None:
    world = World(
        nodes=(node("a"), node("b")),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(said("a", error="image is gone"), said("b", holds={"s": 1})),
    )
    status = only(plan.plan_pool("worker", world, NOW), WritePoolStatus).status
    assert not conditions.is_true(status.conditions, report.DEGRADED)
    summary = conditions.find(status.conditions, report.SETS_DEGRADED)
    assert summary is not None
    assert summary.message == "1 of 2 nodes (1 PrefetchFailed): a: image is gone"
    full = World(
        nodes=world.nodes,
        pools=world.pools,
        sets=world.sets,
        machine_config_nodes=(said("a", error="no space for x", reason="NoSpace"),),
    )
    degraded = conditions.find(
        only(plan.plan_pool("worker", full, NOW), WritePoolStatus).status.conditions,
        report.DEGRADED,
    )
    assert degraded is not None
    assert degraded.status is Truth.TRUE
    assert degraded.message == "a: no space for x"


def test_the_set_names_the_nodes_that_fail() -> None:
    world = World(
        nodes=(node("a"), node("b")),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(said("a", error="image is gone"), said("b", holds={"s": 1})),
    )
    status = only(plan.plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.node_count, status.ready_node_count, status.failed_node_count) == (2, 1, 1)
    assert [(one.node, one.message) for one in status.failures] == [("a", "image is gone")]


def test_an_error_that_is_over_is_no_failure_of_the_set_although_the_node_still_lists_it() -> None:
    world = World(
        nodes=(node("a"),),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=(said("a", error="no room", degraded=False),),
    )
    status = only(plan.plan_set("s", world, NOW), WriteSetStatus).status
    assert (status.failed_node_count, status.failures) == (0, ())
    assert not conditions.is_true(status.conditions, report.DEGRADED)


def test_many_nodes_in_trouble_are_counted_and_a_few_are_named() -> None:
    names = [f"n-{number:02}" for number in range(20)]
    world = World(
        nodes=tuple(map(node, names)),
        pools=(pool(sets=("s",)),),
        sets=(image_set(),),
        machine_config_nodes=tuple(said(name, error="x" * 5000) for name in names),
    )
    status = only(plan.plan_set("s", world, NOW), WriteSetStatus).status
    assert status.failed_node_count == 20
    assert len(status.failures) == 10
    assert all(len(one.message) <= 1024 for one in (*status.failures, *status.conditions))
    short = replace(world, machine_config_nodes=tuple(said(name, error="bad") for name in names))
    summary = conditions.find(
        only(plan.plan_pool("worker", short, NOW), WritePoolStatus).status.conditions,
        report.SETS_DEGRADED,
    )
    assert summary is not None
    assert summary.message == (
        "20 of 20 nodes (20 PrefetchFailed): n-00: bad; n-01: bad; n-02: bad; and 17 more nodes"
    )


def test_a_set_that_is_being_deleted_is_taken_out_of_its_pool() -> None:
    one = image_set("s")
    metadata = msgspec.structs.replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    world = World(
        pools=(pool(sets=("s",), managed=applied("s")),),
        sets=(msgspec.structs.replace(one, metadata=metadata),),
    )
    assert only(plan.plan_pool("worker", world, NOW), EnterSets).sets == ()


GPU_ONLY = {"matchLabels": {"gpu": "yes"}}


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (
            World(pools=(pool(),), sets=(image_set(role="typo"),)),
            f"no pool selects this set: its label {ROLE} must be the name of a pool",
        ),
        (World(pools=(pool(),), sets=(image_set(),)), "its pools are about to get it"),
        (
            World(pools=(pool(sets=("s",)),), sets=(image_set(),)),
            "there is no node in the pools that have this set: worker",
        ),
        (
            World(
                nodes=(node("a"),),
                pools=(pool(sets=("s",)),),
                sets=(image_set(nodeSelector=GPU_ONLY),),
            ),
            "its nodeSelector matches no node of the pools that have this set: worker",
        ),
        (
            World(
                pools=(pool(sets=tuple(f"other-{number}" for number in range(100))),),
                sets=(image_set(),),
            ),
            "worker cannot take more than 100 sets; remove some",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_set_that_reaches_no_node_says_why(world: World, message: str) -> None:
    status = only(plan.plan_set("s", world, NOW), WriteSetStatus).status
    ready = conditions.find(status.conditions, report.READY)
    assert ready is not None
    assert ready.status is Truth.FALSE
    assert ready.message == message


def test_a_full_pool_keeps_the_sets_it_has_and_the_entries_of_others() -> None:
    """A list that is too long would be refused whole, and so would the sets that fit."""
    entered = tuple(f"m-{number:03}" for number in range(98))
    full = pool(sets=("by-hand", *entered), managed=applied(*entered))
    sets = tuple(image_set(name) for name in ("a-new", "z-new", *entered))
    action = only(plan.plan_pool("worker", World(pools=(full,), sets=sets), NOW), EnterSets)
    assert action.sets == ("a-new", *entered)


def test_an_entry_that_a_person_wrote_too_takes_its_place_also_when_we_take_ours_back() -> None:
    entered = tuple(f"m-{number:03}" for number in range(99))
    both = [*applied("shared", *entered), *applied("shared", by="kubectl")]
    full = pool(sets=("shared", *entered), managed=both)
    sets = tuple(image_set(name) for name in ("new", *entered))
    action = only(plan.plan_pool("worker", World(pools=(full,), sets=sets), NOW), EnterSets)
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
    world = World(nodes=(node("n"),), pools=(theirs,), machine_config_nodes=(described,))
    assert plan.plan_pool("worker", world, NOW).actions == ()
    assert plan.plan_node("n", world).actions == ()


def test_mere_progress_is_written_at_most_every_thirty_seconds() -> None:
    nodes = (node("a"), node("b"), node("c"))
    pools, sets = (pool(sets=("s",)),), (image_set(),)
    first = only(
        plan.plan_set("s", World(nodes=nodes, pools=pools, sets=sets), NOW), WriteSetStatus
    ).status
    written = (msgspec.structs.replace(sets[0], status=first),)
    world = World(
        nodes=nodes,
        pools=pools,
        sets=written,
        machine_config_nodes=(said("a", holds={"s": 1}),),
        written_at=NOW,
    )
    early = plan.plan_set("s", world, NOW + timedelta(seconds=5))
    assert early.actions == ()
    assert early.recheck_at == NOW + timedelta(seconds=30)
    late = plan.plan_set("s", world, NOW + timedelta(seconds=30))
    assert only(late, WriteSetStatus).status.ready_node_count == 1
    after_the_clock_was_set_back = plan.plan_set("s", world, NOW - timedelta(hours=1))
    assert only(after_the_clock_was_set_back, WriteSetStatus).status.ready_node_count == 1


def test_that_a_set_has_nodes_now_is_written_at_once() -> None:
    before = World(nodes=(node("a"),), pools=(pool(),), sets=(image_set(),))
    first = only(plan.plan_set("s", before, NOW), WriteSetStatus).status
    assert first.node_count == 0
    entered = World(
        nodes=before.nodes,
        pools=(pool(sets=("s",)),),
        sets=(msgspec.structs.replace(before.sets[0], status=first),),
        written_at=NOW,
    )
    then = plan.plan_set("s", entered, NOW + timedelta(seconds=1))
    assert only(then, WriteSetStatus).status.node_count == 1


def test_that_all_machines_of_a_pool_are_done_is_written_at_once() -> None:
    nodes, sets = (node("a"), node("b")), (image_set(),)

    def world(found: MachineConfigPool, *done: str, written: bool) -> World:
        return World(
            nodes=nodes,
            pools=(found,),
            sets=sets,
            machine_config_nodes=tuple(said(name, holds={"s": 1}) for name in done),
            written_at=NOW if written else None,
        )

    before = pool(sets=("s",), managed=applied("s"))
    first = only(plan.plan_pool("worker", world(before, written=False), NOW), WritePoolStatus)
    written = msgspec.structs.replace(before, status=first.status)
    soon = NOW + timedelta(seconds=5)
    assert plan.plan_pool("worker", world(written, "a", written=True), soon).actions == ()
    done = plan.plan_pool("worker", world(written, "a", "b", written=True), soon)
    (counts,) = only(done, WritePoolStatus).status.pool_synchronizers_status
    assert counts.updated_machine_count == 2


def test_nothing_is_written_when_nothing_changed() -> None:
    nodes, sets = (node("a"),), (image_set(),)
    pools = (pool(sets=("s",), managed=applied("s")),)
    mcns = (said("a", holds={"s": 1}),)
    world = World(nodes=nodes, pools=pools, sets=sets, machine_config_nodes=mcns)
    pool_status = only(plan.plan_pool("worker", world, NOW), WritePoolStatus).status
    set_status = only(plan.plan_set("s", world, NOW), WriteSetStatus).status
    steady = World(
        nodes=nodes,
        pools=(msgspec.structs.replace(pools[0], status=pool_status),),
        sets=(msgspec.structs.replace(sets[0], status=set_status),),
        machine_config_nodes=mcns,
    )
    later = NOW + timedelta(days=1)
    assert plan.plan_pool("worker", steady, later) == Plan()
    assert plan.plan_set("s", steady, later) == Plan()
    assert plan.plan_node("a", steady) == Plan()
