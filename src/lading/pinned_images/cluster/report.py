"""What the cluster says about a pool and a set, from what its nodes say about themselves. Pure."""

from collections import Counter
from datetime import datetime

import msgspec

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
    PoolSynchronizerStatus,
    PoolSynchronizerType,
)
from lading.api.machineconfiguration.pinned_image_set import (
    NodeFailure,
    PinnedImageSet,
    PinnedImageSetStatus,
)
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.cluster import rules
from lading.pinned_images.cluster.rules import Member
from lading.pinned_images.cluster.types import Reason, World

DEGRADED = "Degraded"
SETS_DEGRADED = "PinnedImageSetsDegraded"
READY = "Ready"
NO_ERROR = "No node reports an error"
NODES_NAMED_MAX = 3
MESSAGE_CHARACTERS_MAX = 1024


def pool_status(pool: MachineConfigPool, world: World, now: datetime) -> MachineConfigPoolStatus:
    members = rules.members_of_pool(pool, world)
    generation = pool.metadata.generation
    found = pool.status.conditions
    for condition in (_pool_degraded(members), _sets_degraded(members)):
        said = msgspec.structs.replace(condition, observed_generation=generation)
        found = conditions.with_condition(found, said, now=now)
    return msgspec.structs.replace(
        pool.status,
        pool_synchronizers_status=(_counts(members, world, generation),),
        conditions=found,
    )


def _counts(members: tuple[Member, ...], world: World, generation: int) -> PoolSynchronizerStatus:
    updated = [member for member in members if rules.holds_everything(member, world)]
    available = sum(member.is_ready for member in members)
    return PoolSynchronizerStatus(
        pool_synchronizer_type=PoolSynchronizerType.PINNED_IMAGE_SETS,
        machine_count=len(members),
        updated_machine_count=len(updated),
        ready_machine_count=sum(member.is_ready for member in updated),
        available_machine_count=available,
        unavailable_machine_count=len(members) - available,
        observed_generation=generation,
    )


def _pool_degraded(members: tuple[Member, ...]) -> Condition:
    """No space is the only thing that degrades a pool."""
    full = [
        member
        for member in members
        if member.trouble is not None and member.trouble.reason == Reason.NO_SPACE
    ]
    if not full:
        return _condition(DEGRADED, Truth.FALSE, Reason.AS_EXPECTED, "No node is out of space")
    return _condition(DEGRADED, Truth.TRUE, Reason.NO_SPACE, _named(full))


def _sets_degraded(members: tuple[Member, ...]) -> Condition:
    degraded = [member for member in members if member.trouble is not None]
    if not degraded:
        return _condition(SETS_DEGRADED, Truth.FALSE, Reason.AS_EXPECTED, NO_ERROR)
    reasons = Counter(member.trouble.reason for member in degraded if member.trouble is not None)
    summary = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    message = f"{len(degraded)} of {len(members)} nodes ({summary}): {_named(degraded)}"
    return _condition(SETS_DEGRADED, Truth.TRUE, Reason.NODES_DEGRADED, message)


def _named(members: list[Member]) -> str:
    named = "; ".join(
        f"{member.name}: {member.trouble.message}"
        for member in members[:NODES_NAMED_MAX]
        if member.trouble is not None
    )
    more = len(members) - NODES_NAMED_MAX
    return f"{named}; and {more} more nodes" if more > 0 else named


def set_status(image_set: PinnedImageSet, world: World, now: datetime) -> PinnedImageSetStatus:
    members = rules.members_with_set(image_set, world)
    errors = {member.name: member.error_of(image_set) for member in members}
    failures = tuple(
        NodeFailure(node=name, message=error[:MESSAGE_CHARACTERS_MAX])
        for name, error in sorted(errors.items())
        if error
    )
    ready_count = sum(member.holds(image_set) for member in members)
    generation = image_set.metadata.generation
    found = image_set.status.conditions
    ready = _set_ready(len(members), ready_count) if members else _without_nodes(image_set, world)
    for condition in (ready, _set_degraded(failures)):
        said = msgspec.structs.replace(condition, observed_generation=generation)
        found = conditions.with_condition(found, said, now=now)
    return PinnedImageSetStatus(
        observed_generation=generation,
        node_count=len(members),
        ready_node_count=ready_count,
        failed_node_count=len(failures),
        failures=failures[: group.ERRORS_PER_SET_MAX],
        conditions=found,
    )


def _without_nodes(image_set: PinnedImageSet, world: World) -> Condition:
    if not world.is_on:
        message = "the controller's feature gate PinnedImages is off, so no pool gets this set"
        return _condition(READY, Truth.FALSE, Reason.GATE_OFF, message)
    if rules.is_about_to_be_entered(image_set, world):
        return _condition(READY, Truth.FALSE, Reason.IN_PROGRESS, "its pools are about to get it")
    return _condition(READY, Truth.FALSE, Reason.NO_NODES, _why_no_node(image_set, world))


def _why_no_node(image_set: PinnedImageSet, world: World) -> str:
    if pools := rules.pools_with_set(image_set, world):
        has_nodes = any(rules.members_of_pool(pool, world) for pool in pools)
        matches = "its nodeSelector matches no node of" if has_nodes else "there is no node in"
        return f"{matches} the pools that have this set: {_names(pools)}"
    if pools := rules.pools_that_select(image_set, world):
        return f"{_names(pools)} cannot take more than {group.SETS_PER_POOL_MAX} sets; remove some"
    return f"no pool selects this set: its label {group.ROLE_LABEL} must be the name of a pool"


def _names(pools: tuple[MachineConfigPool, ...]) -> str:
    return ", ".join(pool.metadata.name for pool in pools)


def _set_ready(node_count: int, ready_count: int) -> Condition:
    if ready_count == node_count:
        return _condition(READY, Truth.TRUE, Reason.AS_EXPECTED, "every node holds and pins it")
    return _condition(
        READY, Truth.FALSE, Reason.IN_PROGRESS, f"{ready_count} of {node_count} nodes are done"
    )


def _set_degraded(failures: tuple[NodeFailure, ...]) -> Condition:
    if not failures:
        return _condition(DEGRADED, Truth.FALSE, Reason.AS_EXPECTED, NO_ERROR)
    nodes = "1 node reports" if len(failures) == 1 else f"{len(failures)} nodes report"
    message = f"{nodes} an error; {failures[0].node}: {failures[0].message}"
    return _condition(DEGRADED, Truth.TRUE, Reason.NODES_DEGRADED, message)


def _condition(type_: str, status: Truth, reason: Reason, message: str) -> Condition:
    return Condition(
        type=type_, status=status, reason=reason, message=message[:MESSAGE_CHARACTERS_MAX]
    )
