"""What the cluster does about a node, a pool and a set. Each is planned on its own."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSetStatus
from lading.kernel import conditions, planning
from lading.kernel.conditions import Condition, Truth
from lading.kernel.planning import Plan
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import report, rules
from lading.pinned_images.cluster.types import (
    NODES_AT_ONCE,
    CreatePool,
    DescribeNode,
    EnterSets,
    ObservedNode,
    ObservedPoolSets,
    ObservedSet,
    RecordClusterEvent,
    SetCounts,
    WriteSetStatus,
)
from lading.pinned_images.reasons import ConditionType, EventReason

LARGE_SET_IMAGES = 50  # a set of more images is sent to every agent only when it must be
ENTRY_DELAYS_MAX = 3  # a set waits no longer than this many delays, however many others follow
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
    """Every node has a MachineConfigNode that names its primary pool."""
    node, described = observed.node, observed.described
    if not observed.primary_pool:
        is_for_good = observed.default_pools_exist
        return Plan(actions=(_no_pool(node.metadata.name),) if is_for_good else ())
    if described is not None and (
        rules.another_operator_describes(described) or _describes(observed)
    ):
        return Plan()
    if described is not None and not membership.is_report_of(described, node):
        return Plan()  # the garbage collector deletes it: its owner, an earlier Node, is gone
    because = "the node has none yet" if described is None else "the node or its pool changed"
    return Plan(actions=(DescribeNode(node=node, pool=observed.primary_pool, because=because),))


def _no_pool(name: str) -> RecordClusterEvent:
    because = "No pool selects this node, so it gets no set. Give it a label that a pool selects"
    return RecordClusterEvent(name=name, reason=EventReason.NO_POOL, warning=True, because=because)


def _describes(observed: ObservedNode) -> bool:
    described, uid = observed.described, observed.node.metadata.uid
    return (
        described is not None
        and described.spec.pool.name == observed.primary_pool
        and any(owner.uid == uid for owner in described.metadata.owner_references)
    )


def plan_pool(observed: ObservedPoolSets, now: datetime) -> Plan:
    """The sets of a pool. Its status is written elsewhere, from the facts of all features."""
    pool = observed.pool
    if pool is None:
        return Plan(actions=_missing_default(observed.name))
    if pool.is_configured_by_another_operator:
        return Plan()
    entries = _entries_to_write(pool, observed)
    if entries is None:
        return Plan()
    due = _entries_due_at(entries, pool, observed, now)
    return Plan(recheck_at=due) if due > now else Plan(actions=(entries,))


def _missing_default(name: str) -> tuple[CreatePool, ...]:
    if name not in DEFAULT_POOLS:
        return ()
    because = f"every cluster has a {name} pool"
    return (CreatePool(name=name, spec=DEFAULT_POOLS[name], because=because),)


def _entries_to_write(pool: MachineConfigPool, observed: ObservedPoolSets) -> EnterSets | None:
    """Our entries, unless they are the pool's already; entries of others are not ours."""
    wanted = rules.sets_to_enter(pool, observed.selected_sets) if observed.is_on else ()
    if rules.our_entries(pool) == set(wanted):
        return None
    changed = "the sets that the pool selects changed"
    because = changed if observed.is_on else "the feature gate is off"
    name, uid = pool.metadata.name, pool.metadata.uid
    return EnterSets(pool=name, uid=uid, sets=wanted, because=because)


def _entries_due_at(
    entries: EnterSets, pool: MachineConfigPool, observed: ObservedPoolSets, now: datetime
) -> datetime:
    """A large pool waits until no more sets are made, but not long; what goes, goes at once."""
    ours, wanted = rules.our_entries(pool), set(entries.sets)
    created = [observed.selected_sets[name] for name in wanted - ours]
    if ours - wanted or not all(created):
        return now
    quiet = observed.settings.entry_delay(observed.node_count)
    first, last = (datetime.fromisoformat(one) for one in (min(created), max(created)))
    return min(
        planning.due(last, quiet, now=now),
        planning.due(first, quiet * ENTRY_DELAYS_MAX, now=now),
    )


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
    counts, settings = observed.counts, observed.settings
    is_first = not last.conditions and counts.node_count > 0 and not _has_news(counts)
    if is_first and created:
        delay = settings.first_status_delay(counts.node_count)
        due = planning.due(datetime.fromisoformat(created), delay, now=now)
    else:
        due = settings.status_pacing.for_nodes(status.node_count).due_at(
            observed.status_writes,
            state_changed=_set_state(status) != _set_state(last),
            now=now,
        )
    if is_first or _set_state(status) == _set_state(last):
        return max(due, _nodes_silent_at(observed, now))
    return due


def _nodes_silent_at(observed: ObservedSet, now: datetime) -> datetime:
    """From when on the progress of a set is reported; while its nodes report, it is not.

    The status of a large set sends all its images to every agent of a large fleet. Pools, nodes
    and metrics show the progress; a rollout that stands still needs the status.
    """
    is_small = len(observed.image_set.spec.pinned_images) <= LARGE_SET_IMAGES
    if is_small or observed.counts.node_count <= NODES_AT_ONCE:
        return now
    return planning.due(observed.reported_at, observed.settings.rollout_silence, now=now)


def _has_news(counts: SetCounts) -> bool:
    """Whether a set that is only beginning is ready on all nodes, or fails on one."""
    return counts.failed_node_count > 0 or counts.ready_node_count == counts.node_count


def _events(
    name: str, before: tuple[Condition, ...], after: tuple[Condition, ...]
) -> Iterable[RecordClusterEvent]:
    """One for each condition that became true or was true until now."""
    for new in conditions.changed(before, after):
        is_true = new.status is Truth.TRUE
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


def _set_state(status: PinnedImageSetStatus) -> tuple[object, ...]:
    """What is written at once when it changes; everything else is mere progress.

    Generation, and whether there are nodes at all: none must not be claimed for minutes.
    """
    return (
        tuple((one.type, one.status.value, one.reason) for one in status.conditions),
        status.observed_generation,
        status.node_count > 0,
    )
