"""What the cluster does about a node, a pool and a set. Each is planned on its own."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSetStatus
from lading.kernel import conditions, planning
from lading.kernel.conditions import Condition, Truth
from lading.kernel.pacing import Pacing
from lading.kernel.planning import Action, Plan
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import report, rules
from lading.pinned_images.cluster.types import (
    CreatePool,
    DescribeNode,
    EnterSets,
    ObservedNode,
    ObservedPool,
    ObservedSet,
    RecordClusterEvent,
    SetCounts,
    WritePoolStatus,
    WriteSetStatus,
)
from lading.pinned_images.reasons import ConditionType, EventReason

# Every agent watches pools and sets, so each write is sent to the whole fleet: progress is
# reported the more rarely the more nodes there are (docs/adr/0005).
PROGRESS_INTERVAL_MIN = timedelta(seconds=30)
PROGRESS_INTERVAL_PER_NODE = timedelta(seconds=12)
PROGRESS_INTERVAL_MAX = timedelta(minutes=10)
# A new set of images that are on the nodes already is ready soon: then one write is enough.
FIRST_STATUS_DELAY_PER_NODE = timedelta(seconds=1)
FIRST_STATUS_NODES_AT_ONCE = 10
FIRST_STATUS_DELAY_MAX = timedelta(minutes=1)
STATE_INTERVAL = timedelta(minutes=5)
STATE_BURST = 6  # a rollout has a start and an end; a node may fail and recover in between
DEFAULT_POOLS: dict[str, dict[str, Any]] = {
    membership.MASTER: {
        "machineConfigSelector": {
            "matchLabels": {"machineconfiguration.openshift.io/role": membership.MASTER}
        },
        "nodeSelector": {
            "matchExpressions": [{"key": membership.CONTROL_PLANE_LABEL, "operator": "Exists"}]
        },
    },
    membership.WORKER: {
        "machineConfigSelector": {
            "matchLabels": {"machineconfiguration.openshift.io/role": membership.WORKER}
        },
        "nodeSelector": {
            "matchExpressions": [
                {"key": membership.CONTROL_PLANE_LABEL, "operator": "DoesNotExist"}
            ]
        },
    },
}


def pacing(nodes: int) -> Pacing:
    """How often the status of a pool or set with so many nodes is written."""
    grown = max(PROGRESS_INTERVAL_MIN, PROGRESS_INTERVAL_PER_NODE * nodes)
    return Pacing(
        progress_interval=min(grown, PROGRESS_INTERVAL_MAX),
        state_interval=STATE_INTERVAL,
        burst=STATE_BURST,
    )


def plan_node(observed: ObservedNode) -> Plan:
    """Every node has a MachineConfigNode that names its primary pool."""
    node, described = observed.node, observed.described
    if not observed.primary_pool:
        return Plan(actions=(_no_pool(node.metadata.name),))
    if described is not None and (
        rules.another_operator_describes(described) or _describes(observed)
    ):
        return Plan()
    because = "the node has none yet" if described is None else "the node or its pool changed"
    return Plan(actions=(DescribeNode(node=node, pool=observed.primary_pool, because=because),))


def _no_pool(name: str) -> RecordClusterEvent:
    because = "No pool selects this node, so it gets no set. Label it for a pool"
    return RecordClusterEvent(name=name, reason=EventReason.NO_POOL, warning=True, because=because)


def _describes(observed: ObservedNode) -> bool:
    described, uid = observed.described, observed.node.metadata.uid
    return (
        described is not None
        and described.spec.pool.name == observed.primary_pool
        and any(owner.uid == uid for owner in described.metadata.owner_references)
    )


def plan_pool(observed: ObservedPool, now: datetime) -> Plan:
    pool = observed.pool
    if pool is None:
        return Plan(actions=_missing_default(observed.name))
    if rules.another_operator_configures(pool):
        return Plan()
    status = report.pool_status(pool, observed, now)
    is_new_state = _pool_state(status) != _pool_state(pool.status)
    nodes = sum(one.machine_count for one in status.pool_synchronizers_status)
    due = pacing(nodes).due_at(observed.status_writes, state_changed=is_new_state, now=now)
    changed = status != pool.status
    write = WritePoolStatus(
        pool=observed.name,
        status=status,
        conditions=report.pool_condition_types(observed.facts),
        because="nodes of the pool changed",
    )
    events = _events(observed.name, pool.status.conditions, status.conditions)
    reported: tuple[Action, ...] = (write, *events) if changed and due <= now else ()
    return Plan(
        actions=(*_entries_to_write(pool, observed), *reported),
        recheck_at=due if changed and due > now else None,
    )


def _missing_default(name: str) -> tuple[CreatePool, ...]:
    if name not in DEFAULT_POOLS:
        return ()
    because = f"every cluster has a {name} pool"
    return (CreatePool(name=name, spec=DEFAULT_POOLS[name], because=because),)


def _entries_to_write(pool: MachineConfigPool, observed: ObservedPool) -> tuple[EnterSets, ...]:
    """Our entries, unless they are the pool's already; entries of others are not ours."""
    wanted = rules.sets_to_enter(pool, observed.selected_sets) if observed.is_on else ()
    ours = pool.metadata.applied_names(rules.FIELD_MANAGER, *rules.ENTRIES)
    if ours == set(wanted):
        return ()
    changed = "the sets that the pool selects changed"
    because = changed if observed.is_on else "the feature gate is off"
    name, uid = pool.metadata.name, pool.metadata.uid
    return (EnterSets(pool=name, uid=uid, sets=wanted, because=because),)


def plan_set(observed: ObservedSet, now: datetime) -> Plan:
    metadata, last = observed.image_set.metadata, observed.image_set.status
    if metadata.deletion_timestamp or _is_first_seen_too_early(observed):
        return Plan()
    status = report.set_status(observed, now)
    if status == last:
        return Plan()
    due = _set_status_due_at(observed, status, now)
    if due > now:
        return Plan(recheck_at=due)
    write = WriteSetStatus(
        image_set=metadata.name,
        resource_version=metadata.resource_version,
        status=status,
        because="nodes of the set changed",
    )
    return Plan(actions=(write, *_events(metadata.name, last.conditions, status.conditions)))


def _is_first_seen_too_early(observed: ObservedSet) -> bool:
    """A set without a status gets its first one when its pools have it, a moment later."""
    return (
        observed.is_on
        and not observed.image_set.status.conditions
        and observed.counts.node_count == 0
        and observed.placement.is_about_to_be_entered
    )


def _set_status_due_at(
    observed: ObservedSet, status: PinnedImageSetStatus, now: datetime
) -> datetime:
    last, created = observed.image_set.status, observed.image_set.metadata.creation_timestamp
    counts = observed.counts
    if not last.conditions and created and counts.node_count > 0 and not _has_news(counts):
        return planning.due(
            datetime.fromisoformat(created), first_status_delay(counts.node_count), now=now
        )
    return pacing(status.node_count).due_at(
        observed.status_writes,
        state_changed=_set_state(status) != _set_state(last),
        now=now,
    )


def _has_news(counts: SetCounts) -> bool:
    """Whether a set that is only beginning is ready on all nodes, or fails on one."""
    return counts.failed_node_count > 0 or counts.ready_node_count == counts.node_count


def first_status_delay(nodes: int) -> timedelta:
    """How long a new set that is in progress is without a status."""
    beyond = max(0, nodes - FIRST_STATUS_NODES_AT_ONCE)
    return min(FIRST_STATUS_DELAY_PER_NODE * beyond, FIRST_STATUS_DELAY_MAX)


def _events(
    name: str, before: tuple[Condition, ...], after: tuple[Condition, ...]
) -> Iterable[RecordClusterEvent]:
    """One for each condition that became true or was true until now."""
    for new in after:
        was_true = conditions.is_true(before, new.type)
        is_true = new.status is Truth.TRUE
        if was_true is is_true:
            continue
        if new.type == ConditionType.READY:
            if is_true:
                yield RecordClusterEvent(
                    name=name, reason=EventReason.READY, warning=False, because=new.message
                )
            continue
        reason = EventReason.DEGRADED if is_true else EventReason.RECOVERED
        because = (
            f"{new.type}: {new.reason}: {new.message}" if is_true else f"{new.type}: No errors"
        )
        yield RecordClusterEvent(name=name, reason=reason, warning=is_true, because=because)


State = tuple[object, ...]
"""What is written at once when it changes; everything else in a status is mere progress."""


def _states(found: tuple[Condition, ...]) -> State:
    return tuple((one.type, one.status.value, one.reason) for one in found)


def _set_state(status: PinnedImageSetStatus) -> State:
    """Generation, and whether there are nodes at all: none must not be claimed for minutes."""
    return (*_states(status.conditions), status.observed_generation, status.node_count > 0)


def _pool_state(status: MachineConfigPoolStatus) -> State:
    """Whether all machines are updated is a state too: no one waits long for that."""
    are_updated = tuple(
        (one.observed_generation, one.updated_machine_count == one.machine_count)
        for one in status.pool_synchronizers_status
    )
    return (*_states(status.conditions), are_updated)
