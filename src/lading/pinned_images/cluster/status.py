"""The status of sets, and the part of a pool's status about pinned images. Pure."""

from datetime import datetime

from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_pool import (
    PoolSynchronizerStatus,
    PoolSynchronizerType,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSetStatus
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.cluster.types import (
    NodeProblem,
    ObservedSet,
    Placement,
    PoolCounts,
    SetCounts,
)
from lading.pinned_images.reasons import ConditionType, Reason
from lading.ports.pools import PoolFacts

NO_ERRORS = "No errors"
MESSAGE_CHARACTERS_MAX = 1024
GATE_IS_OFF = "The controller's feature gate PinnedImages is off, so no pool gets this set"


def pool_facts(counts: PoolCounts, *, missing_sets: tuple[str, ...] = ()) -> PoolFacts:
    """The part of the status of a pool that is about pinned images."""
    full = counts.no_space
    return PoolFacts(
        synchronizers=(_synchronizer(counts),),
        conditions=(_sets_degraded(counts, missing_sets),),
        degraded=_condition(
            ConditionType.DEGRADED,
            Truth.TRUE,
            Reason.NO_SPACE,
            _named(full, _count_of_full(counts)),
        )
        if full
        else None,
    )


def _synchronizer(counts: PoolCounts) -> PoolSynchronizerStatus:
    return PoolSynchronizerStatus(
        pool_synchronizer_type=PoolSynchronizerType.PINNED_IMAGE_SETS,
        machine_count=counts.machine_count,
        updated_machine_count=counts.updated_machine_count,
        ready_machine_count=counts.ready_machine_count,
        available_machine_count=counts.available_machine_count,
        unavailable_machine_count=counts.machine_count - counts.available_machine_count,
    )


def _count_of_full(counts: PoolCounts) -> int:
    return dict(counts.problem_counts)[Reason.NO_SPACE]


def _sets_degraded(counts: PoolCounts, missing_sets: tuple[str, ...]) -> Condition:
    missing = f"The pool names sets that do not exist: {', '.join(missing_sets)}"
    if not counts.problems and missing_sets:
        return _condition(ConditionType.SETS_DEGRADED, Truth.TRUE, Reason.SET_NOT_FOUND, missing)
    if not counts.problems:
        return _no_errors(ConditionType.SETS_DEGRADED)
    total = sum(count for _, count in counts.problem_counts)
    summary = ", ".join(f"{count} {reason}" for reason, count in counts.problem_counts)
    named = _named(counts.problems, total)
    message = f"{total} of {counts.machine_count} nodes report a problem ({summary}): {named}"
    message = f"{missing}. {message}" if missing_sets else message
    return _condition(ConditionType.SETS_DEGRADED, Truth.TRUE, Reason.NODES_DEGRADED, message)


def _named(problems: tuple[NodeProblem, ...], total: int) -> str:
    named = "; ".join(f"{problem.node}: {problem.message}" for problem in problems)
    more = total - len(problems)
    return f"{named}; and {more} more nodes" if more > 0 else named


def set_status(observed: ObservedSet, now: datetime) -> PinnedImageSetStatus:
    image_set, counts = observed.image_set, observed.counts
    generation = image_set.metadata.generation
    return PinnedImageSetStatus(
        observed_generation=generation,
        node_count=counts.node_count,
        ready_node_count=counts.ready_node_count,
        failed_node_count=counts.failed_node_count,
        failures=counts.failures,
        conditions=conditions.with_conditions(
            image_set.status.conditions,
            (_set_ready(observed), _set_degraded(counts)),
            generation=generation,
            now=now,
        ),
    )


def _set_ready(observed: ObservedSet) -> Condition:
    ready, nodes = observed.counts.ready_node_count, observed.counts.node_count
    if nodes == 0:
        return _without_nodes(observed.placement, is_on=observed.is_on)
    message = f"Ready on {ready} of {nodes} nodes"
    if ready == nodes:
        return _condition(ConditionType.READY, Truth.TRUE, Reason.AS_EXPECTED, message)
    return _condition(ConditionType.READY, Truth.FALSE, Reason.IN_PROGRESS, message)


def _without_nodes(placement: Placement, *, is_on: bool) -> Condition:
    if not is_on:
        return _condition(ConditionType.READY, Truth.FALSE, Reason.GATE_OFF, GATE_IS_OFF)
    if placement.is_about_to_be_assigned:
        message = f"The set is being added to pool {', '.join(placement.selecting_pools)}"
        return _condition(ConditionType.READY, Truth.FALSE, Reason.IN_PROGRESS, message)
    message = _why_no_node(placement)
    return _condition(ConditionType.READY, Truth.FALSE, Reason.NO_NODES, message)


def _why_no_node(placement: Placement) -> str:
    if placement.pools:
        pools = ", ".join(placement.pools)
        if placement.pools_have_nodes:
            return f"nodeSelector matches no node of the pools that have this set: {pools}"
        return f"The pools that have this set have no node: {pools}"
    if placement.selecting_pools:
        pools = ", ".join(placement.selecting_pools)
        return (
            f"Pool {pools} already has {group.SETS_PER_POOL_MAX} sets, which is the maximum; "
            "remove a set from it"
        )
    return f"No pool selects this set: set its label {group.ROLE_LABEL} to the name of a pool"


def _set_degraded(counts: SetCounts) -> Condition:
    if not counts.failures:
        return _no_errors(ConditionType.DEGRADED)
    failed, first = counts.failed_node_count, counts.failures[0]
    nodes = "1 node reports" if failed == 1 else f"{failed} nodes report"
    message = f"{nodes} an error; {first.node}: {first.message}"
    return _condition(ConditionType.DEGRADED, Truth.TRUE, Reason.NODES_DEGRADED, message)


def _no_errors(type_: ConditionType) -> Condition:
    return _condition(type_, Truth.FALSE, Reason.AS_EXPECTED, NO_ERRORS)


def _condition(type_: ConditionType, status: Truth, reason: str, message: str) -> Condition:
    return Condition(
        type=type_, status=status, reason=reason, message=message[:MESSAGE_CHARACTERS_MAX]
    )
