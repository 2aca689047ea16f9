"""The status of a pool, combined from the facts of all features."""

from collections.abc import Iterable
from datetime import datetime

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPoolStatus,
    PoolSynchronizerStatus,
)
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.pools.types import (
    FIELD_MANAGER,
    ObservedPool,
    PoolConditionType,
    PoolEventReason,
    PoolReason,
    WritePoolStatus,
)
from lading.ports.pools import PoolFacts

NO_ERRORS = "No errors"
MESSAGE_CHARACTERS_MAX = 1024


def plan(observed: ObservedPool, now: datetime) -> Plan:
    """Pools of another operator are left alone: their list of conditions is atomic."""
    pool = observed.pool
    if pool.is_configured_by_another_operator:
        return Plan()
    status = pool_status(observed, now)
    if status == pool.status:
        return Plan()
    nodes = sum(one.machine_count for one in status.pool_synchronizers_status)
    due = observed.pacing.due_at(
        observed.status_writes,
        nodes=nodes,
        state_changed=_state(status) != _state(pool.status),
        now=now,
    )
    if due > now:
        return Plan(recheck_at=due)
    write = WritePoolStatus(
        pool=pool.metadata.name,
        status=status,
        conditions=frozenset(one.type for one in _combined(observed.facts)),
        because="the facts of a feature changed",
    )
    events = _events(pool.status.conditions, status.conditions)
    return Plan(actions=(write, *events))


def pool_status(observed: ObservedPool, now: datetime) -> MachineConfigPoolStatus:
    """Conditions that no feature reports are dropped. Conditions of others stay."""
    last = observed.pool.status
    new = _combined(observed.facts)
    dropped = observed.pool.metadata.applied_condition_types(FIELD_MANAGER) - {
        one.type for one in new
    }
    return replace(
        last,
        pool_synchronizers_status=tuple(
            _with_applied_generation(one, last, observed.generation)
            for fact in observed.facts
            for one in fact.synchronizers
        ),
        conditions=conditions.with_conditions(
            (one for one in last.conditions if one.type not in dropped),
            new,
            generation=observed.generation,
            now=now,
        ),
    )


def _combined(facts: tuple[PoolFacts, ...]) -> tuple[Condition, ...]:
    """The conditions of all features, and Degraded. Empty if no feature has facts."""
    own = tuple(one for fact in facts for one in fact.conditions)
    return (*own, _degraded(facts)) if facts else ()


def _degraded(facts: tuple[PoolFacts, ...]) -> Condition:
    """True if a feature has a reason. The message has all of them, the reason is the first."""
    found = [fact.degraded for fact in facts if fact.degraded is not None]
    return Condition(
        type=PoolConditionType.DEGRADED,
        status=Truth.TRUE if found else Truth.FALSE,
        reason=found[0].reason if found else PoolReason.AS_EXPECTED,
        message="; ".join(one.message for one in found)[:MESSAGE_CHARACTERS_MAX] or NO_ERRORS,
    )


def _with_applied_generation(
    new: PoolSynchronizerStatus, last: MachineConfigPoolStatus, generation: int
) -> PoolSynchronizerStatus:
    """`observedGeneration` is the last generation that all machines of the pool have."""
    applied = next(
        (
            one.observed_generation
            for one in last.pool_synchronizers_status
            if one.pool_synchronizer_type is new.pool_synchronizer_type
        ),
        0,
    )
    if new.updated_machine_count == new.machine_count:
        applied = generation
    elif applied > generation:
        applied = 0  # of an earlier pool with the same name
    return replace(new, observed_generation=applied)


def _events(before: tuple[Condition, ...], after: tuple[Condition, ...]) -> Iterable[RecordEvent]:
    for one in conditions.changed(before, after):
        is_true = one.status is Truth.TRUE
        yield RecordEvent(
            reason=PoolEventReason.DEGRADED if is_true else PoolEventReason.RECOVERED,
            warning=is_true,
            because=f"{one.type}: {one.reason}: {one.message}"
            if is_true
            else f"{one.type}: {NO_ERRORS}",
        )


def _state(status: MachineConfigPoolStatus) -> tuple[object, ...]:
    """Changes of these are written at once; everything else is progress."""
    return (
        tuple((one.type, one.status.value, one.reason) for one in status.conditions),
        tuple(
            (one.observed_generation, one.updated_machine_count == one.machine_count)
            for one in status.pool_synchronizers_status
        ),
    )
