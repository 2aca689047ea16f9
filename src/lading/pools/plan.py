"""The status of a pool, combined from the facts of all features."""

import re
from collections.abc import Iterable
from datetime import datetime

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPoolStatus,
    PoolSynchronizerStatus,
)
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.pacing import Change
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
SEPARATOR = "; "
_MORE = re.compile(r"and ([0-9]+) more(?: nodes)?")


def plan(observed: ObservedPool, now: datetime) -> Plan:
    """Pools of another operator are left alone: their list of conditions is atomic."""
    pool = observed.pool
    if pool.is_configured_by_another_operator:
        return Plan()
    status = pool_status(observed, now)
    if status == pool.status:
        return Plan()
    nodes = sum(one.machine_count for one in status.pool_synchronizers_status)
    change = _change(pool.status, status)
    due = observed.pacing.due_at(observed.status_at, change, nodes=nodes, now=now)
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
        message=_joined([one.message for one in found]) or NO_ERRORS,
    )


def _joined(messages: list[str]) -> str:
    """Each feature keeps its share of the message; the rest of a short one goes to the others."""
    room = MESSAGE_CHARACTERS_MAX - len(SEPARATOR) * (len(messages) - 1)
    parts = list(messages)
    order = sorted(range(len(messages)), key=lambda one: len(messages[one]))
    for done, index in enumerate(order):
        parts[index] = _shortened(messages[index], room // (len(order) - done))
        room -= len(parts[index])
    return SEPARATOR.join(parts)


def _shortened(message: str, characters_max: int) -> str:
    """Whole items, and how many others there are. One item alone is cut between two words."""
    if len(message) <= characters_max:
        return message
    items = message.split(SEPARATOR)
    counted = _MORE.fullmatch(items[-1])
    uncounted = int(counted[1]) if counted else 0
    items = items[:-1] if counted else items
    for kept in range(len(items) - 1, 0, -1):
        more = f"and {len(items) - kept + uncounted} more"
        text = SEPARATOR.join((*items[:kept], more))
        if len(text) <= characters_max:
            return text
    more = f" ... and {len(items) - 1 + uncounted} more" if len(items) + uncounted > 1 else " ..."
    cut = items[0][: characters_max - len(more)]
    return (cut.rpartition(" ")[0] or cut) + more


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
    if _all_are_updated(new):
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


def _change(last: MachineConfigPoolStatus, new: MachineConfigPoolStatus) -> Change:
    if conditions.withdrawn(last.conditions, new.conditions) or _fewer_are_updated(last, new):
        return Change.WITHDRAWAL
    return Change.PROGRESS if _state(last) == _state(new) else Change.NEWS


def _fewer_are_updated(last: MachineConfigPoolStatus, new: MachineConfigPoolStatus) -> bool:
    """Fewer machines than the last status says, or no longer all of them."""
    after = {one.pool_synchronizer_type: one for one in new.pool_synchronizers_status}
    return any(
        found is None
        or found.updated_machine_count < one.updated_machine_count
        or (_all_are_updated(one) and not _all_are_updated(found))
        for one in last.pool_synchronizers_status
        for found in (after.get(one.pool_synchronizer_type),)
    )


def _all_are_updated(one: PoolSynchronizerStatus) -> bool:
    return one.updated_machine_count == one.machine_count


def _state(status: MachineConfigPoolStatus) -> tuple[object, ...]:
    """Everything that is not in it is progress."""
    return (
        tuple((one.type, one.status.value, one.reason) for one in status.conditions),
        tuple(
            (one.observed_generation, _all_are_updated(one))
            for one in status.pool_synchronizers_status
        ),
    )
