"""The status of all machine sets together, and the row that shows one of them. Pure."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.api.operator import BootImageUpdates, MachineConfiguration, Mode
from lading.boot_images import rules
from lading.boot_images.rules import Enrolment
from lading.boot_images.types import MANAGED_BOOT_IMAGES, ReportConfiguration
from lading.boot_images.verdicts import BootImageConditionType, MachineSetState, Why
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.ports.pools import PoolFacts

WORKER_POOL = "worker"
PROGRESSING = BootImageConditionType.PROGRESSING
DEGRADED = BootImageConditionType.DEGRADED
NAMED_MAX = 10  # a message names so many failing machine sets and counts the others


class MachineSetRowState(StrEnum):
    """A state that only `lading bootimage status` and the dashboard show."""

    REMOVED = "Removed"
    """The machine set no longer exists."""


def row(history: MachineSetBootImageHistory) -> dict[str, str]:
    spec, status = history.spec, history.status
    return {
        "name": spec.machine_set_name,
        "api": spec.machine_set_api_group,
        "state": MachineSetRowState.REMOVED.value if spec.removed_time else status.state,
        "reason": status.reason,
        "image": status.boot_image_ref,
        "target": status.target,
        "message": status.message,
    }


class ObservedConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """The MachineConfiguration of this name, with all others and the histories."""

    name: str
    configurations: tuple[MachineConfiguration, ...]
    histories: tuple[MachineSetBootImageHistory, ...]


def plan(observed: ObservedConfiguration, now: datetime, *, is_on: bool) -> Plan:
    """The status of one MachineConfiguration. No status if another operator reports."""
    name = observed.name
    one = next((each for each in observed.configurations if each.metadata.name == name), None)
    enrolment = rules.enrolment(observed.configurations)
    if one is None or name not in rules.NAMES or enrolment.is_reporting_only:
        return Plan()
    wanted = _status(one, enrolment, observed.histories, now, is_on=is_on)
    if wanted == _ours(one):
        return Plan()
    because = "the configuration or machine sets changed"
    return Plan(actions=(ReportConfiguration(name=name, status=wanted, because=because),))


def pool_facts(
    pool: str,
    configurations: tuple[MachineConfiguration, ...],
    histories: Iterable[MachineSetBootImageHistory],
    *,
    is_on: bool,
) -> PoolFacts | None:
    """The contribution to the status of the worker pool. Machine sets make workers."""
    enrolment = rules.enrolment(configurations)
    is_enrolling = is_on and enrolment.mode is not Mode.DISABLED
    if pool != WORKER_POOL or not is_enrolling or enrolment.is_reporting_only:
        return None
    found = degraded(histories)
    return PoolFacts(conditions=(found,), degraded=found if found.status is Truth.TRUE else None)


def _status(
    one: MachineConfiguration,
    enrolment: Enrolment,
    histories: tuple[MachineSetBootImageHistory, ...],
    now: datetime,
    *,
    is_on: bool,
) -> dict[str, Any]:
    """There are no conditions if the feature is off or no machine set is enrolled."""
    if not is_on and not _ours(one):
        return {}
    is_enrolling = enrolment.mode is not Mode.DISABLED or enrolment.why is Why.OPT_IN_AMBIGUOUS
    found: tuple[Condition, ...] = tuple(
        each for each in one.status.conditions if each.type in (PROGRESSING, DEGRADED)
    )
    for condition in (progressing(histories, enrolment), degraded(histories)):
        observed = replace(condition, observed_generation=one.metadata.generation)
        found = conditions.with_condition(found, observed, now=now)
    return {
        "observedGeneration": one.metadata.generation,
        "bootImageUpdates": msgspec.to_builtins(_in_force(enrolment, is_on=is_on)),
        "conditions": list(msgspec.to_builtins(found)) if is_on and is_enrolling else [],
    }


def _in_force(enrolment: Enrolment, *, is_on: bool) -> BootImageUpdates:
    if not is_on:
        source = f"feature gate {MANAGED_BOOT_IMAGES.name} is off"
        return BootImageUpdates(mode=Mode.DISABLED, source=source)
    selectors = sorted({str(each) for each in enrolment.selectors.values()})
    return BootImageUpdates(
        mode=enrolment.mode, selector="; ".join(filter(None, selectors)), source=enrolment.source
    )


def _ours(one: MachineConfiguration) -> dict[str, Any]:
    """The part of the current status that Lading writes."""
    found = [each for each in one.status.conditions if each.type in (PROGRESSING, DEGRADED)]
    if not found and one.status.boot_image_updates is None:
        return {}
    return {
        "observedGeneration": one.status.observed_generation,
        "bootImageUpdates": msgspec.to_builtins(one.status.boot_image_updates),
        "conditions": msgspec.to_builtins(found),
    }


def progressing(histories: Iterable[MachineSetBootImageHistory], enrolment: Enrolment) -> Condition:
    if enrolment.why is Why.OPT_IN_AMBIGUOUS:
        return _condition(PROGRESSING, False, Why.OPT_IN_AMBIGUOUS, enrolment.problem)
    alive = tuple(_alive(histories))
    states = [one.status.state for one in alive]
    enrolled = [one for one in states if one and one != MachineSetState.NOT_ENROLLED]
    current = enrolled.count(MachineSetState.CURRENT)
    skipped = enrolled.count(MachineSetState.SKIPPED) + enrolled.count(MachineSetState.MANUAL)
    message = f"{current} of {len(enrolled)} machine sets updated, {skipped} skipped"
    waiting = [one.status for one in alive if one.status.state == MachineSetState.WAITING]
    if waiting:
        reasons = "; ".join(sorted({one.message for one in waiting}))
        message += f", {len(waiting)} waiting: {reasons}"
    is_working = MachineSetState.UPDATING in enrolled or MachineSetState.WAITING in enrolled
    return _condition(
        PROGRESSING, is_working, Why.UPDATING if is_working else Why.AS_EXPECTED, message
    )


def degraded(histories: Iterable[MachineSetBootImageHistory]) -> Condition:
    failed = sorted(
        (one for one in _alive(histories) if one.status.state == MachineSetState.FAILED),
        key=lambda one: (one.spec.machine_set_namespace, one.spec.machine_set_name),
    )
    if not failed:
        return _condition(DEGRADED, False, Why.AS_EXPECTED, "No errors")
    named = [f"{one.spec.machine_set_name}: {one.status.message}" for one in failed[:NAMED_MAX]]
    more = len(failed) - len(named)
    rest = (f"and {more} more",) if more else ()
    reasons = {one.status.reason for one in failed}
    reason = reasons.pop() if len(reasons) == 1 else Why.MACHINE_SETS_FAILED
    return _condition(DEGRADED, True, reason, "; ".join((*named, *rest)))


def _alive(
    histories: Iterable[MachineSetBootImageHistory],
) -> Iterable[MachineSetBootImageHistory]:
    return (one for one in histories if not one.spec.removed_time)


def _condition(type_: str, is_so: bool, reason: str, message: str) -> Condition:
    return Condition(
        type=type_, status=Truth.TRUE if is_so else Truth.FALSE, reason=reason, message=message
    )
