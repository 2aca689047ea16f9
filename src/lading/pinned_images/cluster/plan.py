"""What the cluster does about a node, a pool and a set. Each is planned on its own."""

from datetime import datetime, timedelta
from typing import Any

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSetStatus
from lading.kernel import planning
from lading.kernel.conditions import Condition
from lading.kernel.planning import Plan
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import report, rules
from lading.pinned_images.cluster.types import (
    CreatePool,
    DescribeNode,
    EnterSets,
    World,
    WritePoolStatus,
    WriteSetStatus,
)

# Every agent watches pools and sets: while nodes progress, their status is written this rarely.
STATUS_INTERVAL_MIN = timedelta(seconds=30)
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


def plan_node(name: str, world: World) -> Plan:
    """Every node has a MachineConfigNode that names its primary pool."""
    node = next((one for one in world.nodes if one.metadata.name == name), None)
    if node is None:
        return Plan()
    pools = membership.pools_of_node(node, world.pools)
    if not pools:
        return Plan(notes=(f"node {name} is in no pool",))
    primary = pools[0].metadata.name
    said = next((one for one in world.machine_config_nodes if one.metadata.name == name), None)
    if said is not None and rules.another_operator_describes(said):
        return Plan(notes=(f"another operator describes node {name}",))
    owners = said.metadata.owner_references if said else ()
    if (
        said is not None
        and said.spec.pool.name == primary
        and any(owner.uid == node.metadata.uid for owner in owners)
    ):
        return Plan()
    because = "the node has none yet" if said is None else "the node or its pool changed"
    return Plan(actions=(DescribeNode(node=node, pool=primary, because=because),))


def plan_pool(name: str, world: World, now: datetime) -> Plan:
    pool = next((one for one in world.pools if one.metadata.name == name), None)
    if pool is None:
        return Plan(actions=_missing_default(name))
    if rules.another_operator_configures(pool):
        return Plan(notes=(f"another operator configures pool {name}",))
    entered = _entered(pool, world)
    status = report.pool_status(pool, world, now)
    due = _due_at(_pool_state(pool.status), _pool_state(status), world, now)
    changed = status != pool.status
    write = WritePoolStatus(pool=name, status=status, because="nodes of the pool changed")
    return Plan(
        actions=(
            *((entered,) if _entries_differ(pool, entered.sets) else ()),
            *((write,) if changed and (due is None or due <= now) else ()),
        ),
        recheck_at=due if changed and due is not None and due > now else None,
    )


def _entered(pool: MachineConfigPool, world: World) -> EnterSets:
    name, uid = pool.metadata.name, pool.metadata.uid
    if not world.is_on:
        return EnterSets(pool=name, uid=uid, sets=(), because="the feature gate is off")
    matching = rules.sets_of_pool(pool, world.sets)
    because = "the sets whose labels the pool selects changed"
    return EnterSets(pool=name, uid=uid, sets=matching, because=because)


def _missing_default(name: str) -> tuple[CreatePool, ...]:
    if name not in DEFAULT_POOLS:
        return ()
    because = f"every cluster has a {name} pool"
    return (CreatePool(name=name, spec=DEFAULT_POOLS[name], because=because),)


def _entries_differ(pool: MachineConfigPool, matching: tuple[str, ...]) -> bool:
    """Whether our entries are not the matching sets; an entry of somebody else is not ours."""
    ours = pool.metadata.applied_names(rules.FIELD_MANAGER, *rules.ENTRIES)
    return ours != set(matching)


def plan_set(name: str, world: World, now: datetime) -> Plan:
    image_set = next((one for one in world.sets if one.metadata.name == name), None)
    if image_set is None or image_set.metadata.deletion_timestamp:
        return Plan()
    status = report.set_status(image_set, world, now)
    if status == image_set.status:
        return Plan()
    due = _due_at(_set_state(image_set.status), _set_state(status), world, now)
    if due is not None and due > now:
        return Plan(recheck_at=due)
    write = WriteSetStatus(image_set=name, status=status, because="nodes of the set changed")
    return Plan(actions=(write,))


State = tuple[object, ...]
"""What is written at once when it changes; everything else in a status is mere progress."""


def _due_at(before: State, after: State, world: World, now: datetime) -> datetime | None:
    """When mere progress may be written; None when it need not wait."""
    if world.written_at is None or before != after:
        return None
    return planning.due(world.written_at, STATUS_INTERVAL_MIN, now=now)


def _states(found: tuple[Condition, ...]) -> State:
    return tuple((one.type, one.status.value, one.reason) for one in found)


def _set_state(status: PinnedImageSetStatus) -> State:
    """Whether there are nodes at all is a state too: none must not be claimed for half a minute."""
    return (*_states(status.conditions), status.node_count > 0)


def _pool_state(status: MachineConfigPoolStatus) -> State:
    """Whether all machines are done is a state too: nobody shall wait for that."""
    are_done = tuple(
        one.updated_machine_count == one.machine_count for one in status.pool_synchronizers_status
    )
    return (*_states(status.conditions), are_done)
