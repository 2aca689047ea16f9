"""The plans for a node, for the sets of a pool, and for the status of a set."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSetStatus
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.pacing import Change
from lading.kernel.planning import Plan, RecordEvent
from lading.pinned_images import membership
from lading.pinned_images.cluster import rules
from lading.pinned_images.cluster import status as set_status
from lading.pinned_images.cluster.types import (
    ApplyMachineConfigNode,
    AssignSetsToPool,
    CreatePool,
    ObservedNode,
    ObservedPoolSets,
    ObservedSet,
    SetCounts,
    WriteSetStatus,
)
from lading.pinned_images.reasons import ConditionType, EventReason

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


def plan_node(observed: ObservedNode) -> Plan:
    """Every node has a MachineConfigNode with its primary pool."""
    node, found, pool = observed.node, observed.machine_config_node, observed.primary_pool
    if not pool:
        is_final = observed.default_pools_exist
        return Plan(actions=(_no_pool(),) if is_final else ())
    if found is not None and (rules.belongs_to_another_operator(found) or _is_current(observed)):
        return Plan()
    if found is not None and not membership.is_report_of(found, node):
        return Plan()  # the garbage collector deletes it: its owner, an earlier Node, is gone
    because = "the node has none yet" if found is None else "the node or its pool changed"
    return Plan(actions=(ApplyMachineConfigNode(node=node, pool=pool, because=because),))


def _no_pool() -> RecordEvent:
    because = "No pool selects this node, so it gets no set. Give it a label that a pool selects"
    return RecordEvent(reason=EventReason.NO_POOL, warning=True, because=because)


def _is_current(observed: ObservedNode) -> bool:
    found, uid = observed.machine_config_node, observed.node.metadata.uid
    return (
        found is not None
        and found.spec.pool.name == observed.primary_pool
        and any(owner.uid == uid for owner in found.metadata.owner_references)
    )


def plan_pool(observed: ObservedPoolSets) -> Plan:
    """The sets of a pool. The feature `pools` writes its status."""
    pool = observed.pool
    if pool is None:
        return Plan(actions=_missing_default(observed.name))
    if pool.is_configured_by_another_operator:
        return Plan()
    ours = rules.sets_assigned_by_us(pool)
    wanted = rules.sets_to_assign(pool, observed.selected_sets) if observed.is_on else ()
    if ours == set(wanted):
        return Plan()
    changed = "the sets that the pool selects changed"
    because = changed if observed.is_on else "the feature gate is off"
    name, uid = pool.metadata.name, pool.metadata.uid
    return Plan(actions=(AssignSetsToPool(pool=name, uid=uid, sets=wanted, because=because),))


def _missing_default(name: str) -> tuple[CreatePool, ...]:
    if name not in DEFAULT_POOLS:
        return ()
    because = f"every cluster has a {name} pool"
    return (CreatePool(name=name, spec=DEFAULT_POOLS[name], because=because),)


def plan_set(observed: ObservedSet, now: datetime) -> Plan:
    metadata, last = observed.image_set.metadata, observed.image_set.status
    if metadata.deletion_timestamp or _is_too_early(observed):
        return Plan()
    status = set_status.set_status(observed, now)
    if status == last:
        return Plan()
    due = _status_due_at(observed, status, now)
    if due > now:
        return Plan(recheck_at=due)
    write = WriteSetStatus(
        image_set=metadata.name,
        resource_version=metadata.resource_version,
        status=status,
        because="nodes of the set changed",
    )
    return Plan(actions=(write, *_events(last.conditions, status.conditions)))


def _is_too_early(observed: ObservedSet) -> bool:
    """A new set gets its first status after its pools got the set, a moment later."""
    return (
        observed.is_on
        and not observed.image_set.status.conditions
        and observed.counts.node_count == 0
        and observed.placement.is_about_to_be_assigned
    )


def _status_due_at(observed: ObservedSet, status: PinnedImageSetStatus, now: datetime) -> datetime:
    """Creating a set is a write too. So its first status waits, unless it is ready or fails."""
    metadata, last, since = (
        observed.image_set.metadata,
        observed.image_set.status,
        observed.status_at,
    )
    if not last.conditions and status.node_count and not _has_news(observed.counts):
        since = since or conditions.instant(metadata.creation_timestamp)
    change, nodes = _change(last, status), status.node_count
    return observed.pacing.due_at(since, change, nodes=nodes, now=now)


def _has_news(counts: SetCounts) -> bool:
    """Whether a new set is ready on all nodes, or fails on a node."""
    return counts.failed_node_count > 0 or counts.ready_node_count == counts.node_count


def _events(before: tuple[Condition, ...], after: tuple[Condition, ...]) -> Iterable[RecordEvent]:
    """One event for each condition that became true or is no longer true."""
    for new in conditions.changed(before, after):
        is_true = new.status is Truth.TRUE
        if new.type == ConditionType.READY:
            if is_true:
                yield RecordEvent(reason=EventReason.READY, because=new.message)
            continue
        reason = EventReason.DEGRADED if is_true else EventReason.RECOVERED
        because = (
            f"{new.type}: {new.reason}: {new.message}" if is_true else f"{new.type}: No errors"
        )
        yield RecordEvent(reason=reason, warning=is_true, because=because)


def _change(last: PinnedImageSetStatus, new: PinnedImageSetStatus) -> Change:
    is_withdrawn = conditions.withdrawn(last.conditions, new.conditions)
    if is_withdrawn or new.ready_node_count < last.ready_node_count:
        return Change.WITHDRAWAL
    return Change.PROGRESS if _set_state(last) == _set_state(new) else Change.NEWS


def _set_state(status: PinnedImageSetStatus) -> tuple[object, ...]:
    """Everything that is not in it is progress."""
    return (
        tuple((one.type, one.status.value, one.reason) for one in status.conditions),
        status.observed_generation,
        status.node_count > 0,
    )
