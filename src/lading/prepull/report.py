"""The status of one Image: its state, the map of nodes, faults and conditions. Pure.

Readiness may flap on many nodes at once, so a status is written at an interval, except when the
Image reaches a state for the first time, pre-pulling is turned on or off, something else decides
about that, or images are held in another way.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from lading.api.longhorn import FAILURES_MAX, Image, ImageFailure, ImageState, ImageStatus
from lading.kernel import conditions, planning
from lading.kernel.conditions import Condition, Truth
from lading.kernel.objects import Key
from lading.kernel.pacing import Writes
from lading.kernel.planning import Plan, earliest
from lading.prepull import nodes
from lading.prepull.holding import Holding, HoldingWay
from lading.prepull.periods import PrePullPeriods
from lading.prepull.rules import DEPLOYED, HELD_AS_IMAGE_VOLUME, PRE_PULL_ENABLED
from lading.prepull.types import (
    Enablement,
    Fault,
    ImageReason,
    NodeRecord,
    PrePullProblem,
)

DEFAULT_PERIODS = PrePullPeriods()
MAP_BYTES_MAX = 400 * 1024
"""5,000 nodes with names of 70 characters; the API server takes no object above 1.5 MiB."""
_ENTRY_BYTES = 10
"""Of an entry beside the name: quotes, colon, true or false, comma."""
_STATES = {
    ImageReason.INVALID_IMAGE: ImageState.ERROR,
    ImageReason.TOO_MANY_IMAGES: ImageState.ERROR,
}
"""What a problem with the Image itself makes of it; all others leave it deploying."""


class ObservedImage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the status of one Image goes by."""

    image: Image
    enablement: Enablement
    holding: Holding = Holding()
    container: str = ""
    problem: PrePullProblem | None = None
    nodes: Mapping[str, NodeRecord] = {}
    owner_id: str = ""
    writes: Writes = ()
    states_written: frozenset[ImageState] = frozenset()
    """The states that this process wrote for this generation and template."""


class WriteImageStatus(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    resource_version: str
    status: ImageStatus
    because: str
    lane: Hashable = "status"


class RecordImageEvent(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    reason: ImageReason
    warning: bool
    because: str
    lane: Hashable = "status"


class _Verdict(msgspec.Struct, frozen=True, kw_only=True):
    state: ImageState
    why: ImageReason
    message: str


def plan(
    observed: ObservedImage, now: datetime, *, periods: PrePullPeriods = DEFAULT_PERIODS
) -> Plan:
    image, last = observed.image, observed.image.status
    faults = _faults(observed, now, periods.registry_grace)
    verdict = _verdict(observed, faults)
    recheck_at = _grace_ends(observed, now, periods.registry_grace)
    due_at = _due_at(observed, verdict.state, now, periods.status_interval)
    if due_at > now:  # whether anything changed is looked at then: the map is large
        return Plan(recheck_at=earliest(due_at, recheck_at))
    status = _status(observed, verdict, faults, now)
    if status == last:
        return Plan(recheck_at=recheck_at)
    write = WriteImageStatus(
        key=image.key,
        resource_version=image.metadata.resource_version,
        status=status,
        because=f"{verdict.state}: {verdict.message}",
    )
    events = _events(observed, verdict)
    return Plan(actions=(write, *events), recheck_at=recheck_at)


def _due_at(
    observed: ObservedImage, state: ImageState, now: datetime, interval: timedelta
) -> datetime:
    last = observed.image.status
    if not observed.writes or last.observed_generation != observed.image.metadata.generation:
        return now
    before = conditions.find(last.conditions, PRE_PULL_ENABLED)
    is_switched = before is None or before.reason != observed.enablement.by
    held_as = conditions.find(last.conditions, HELD_AS_IMAGE_VOLUME)
    is_switched |= held_as is None or held_as.reason != _held_as(observed).reason
    is_switched |= ImageState.UNKNOWN in (state, last.state) and state != last.state
    if is_switched or state not in observed.states_written:
        return now
    return planning.due(observed.writes[-1], interval, now=now)


def _faults(observed: ObservedImage, now: datetime, grace: timedelta) -> dict[str, Fault]:
    """By node, sorted; those that count."""
    if not observed.container or not observed.enablement.is_on:
        return {}
    container = observed.container
    found = {
        name: record.faults[container]
        for name, record in observed.nodes.items()
        if container in record.faults
    }
    return {name: found[name] for name in sorted(found) if nodes.is_fault(found[name], now, grace)}


def _grace_ends(observed: ObservedImage, now: datetime, grace: timedelta) -> datetime | None:
    container = observed.container
    found = [one.faults[container] for one in observed.nodes.values() if container in one.faults]
    return earliest(
        *(one.since + grace for one in found if one.since and not nodes.is_fault(one, now, grace))
    )


def _verdict(observed: ObservedImage, faults: Mapping[str, Fault]) -> _Verdict:
    if not observed.enablement.is_on:
        return _Verdict(
            state=ImageState.UNKNOWN, why=ImageReason.DISABLED, message=observed.enablement.message
        )
    if observed.problem is not None:
        state = _STATES.get(observed.problem.why, ImageState.DEPLOYING)
        return _Verdict(state=state, why=observed.problem.why, message=observed.problem.message)
    ready = {name: one for name, one in observed.nodes.items() if one.is_ready}
    faulty = {name: fault for name, fault in faults.items() if name in ready}
    if faulty:
        return _error(faulty)
    held = sum(observed.container in one.held for one in ready.values())
    if not observed.nodes:
        message = "No node matches the node selector and the tolerations of the DaemonSet."
        return _Verdict(
            state=ImageState.DEPLOYING, why=ImageReason.NO_ELIGIBLE_NODES, message=message
        )
    counted = f"Held on {held} of {len(ready)} Ready worker nodes."
    if ready and held == len(ready):
        return _Verdict(state=ImageState.DEPLOYED, why=ImageReason.DEPLOYED, message=counted)
    return _Verdict(state=ImageState.DEPLOYING, why=ImageReason.DEPLOYING, message=counted)


def _error(faulty: Mapping[str, Fault]) -> _Verdict:
    """The most frequent fault gives the reason, the first node of it the message."""
    counts = Counter(one.why for one in faulty.values())
    why = min(counts, key=lambda one: (-counts[one], one))
    name, first = next((name, one) for name, one in faulty.items() if one.why is why)
    others = len(faulty) - 1
    more = f" {others} more nodes report an error; see failures." if others else ""
    message = f"Node {name}: {first.message.removesuffix('.')}.{more}"
    return _Verdict(state=ImageState.ERROR, why=why, message=message)


def _status(
    observed: ObservedImage, verdict: _Verdict, faults: Mapping[str, Fault], now: datetime
) -> ImageStatus:
    generation = observed.image.metadata.generation
    is_held = observed.enablement.is_on and bool(observed.container)
    shown = observed.nodes if is_held else {}
    held = {name: observed.container in one.held for name, one in shown.items()}
    listed = _bounded_map(held)
    return ImageStatus(
        owner_id=observed.owner_id,
        state=verdict.state,
        node_deployment_map=listed,
        observed_generation=generation,
        node_count=len(held),
        deployed_node_count=sum(held.values()),
        failed_node_count=len(faults),
        failures=tuple(_failures(faults)),
        conditions=conditions.with_conditions(
            observed.image.status.conditions,
            (
                _deployed(verdict, _cut(listed, held)),
                _enabled(observed.enablement),
                _held_as(observed),
            ),
            generation=generation,
            now=now,
        ),
    )


def _bounded_map(held: Mapping[str, bool]) -> dict[str, bool]:
    """Where names are so long that they do not fit, nodes without the image come first."""
    size = sum(len(name) + _ENTRY_BYTES for name in held)
    if size <= MAP_BYTES_MAX:
        return {name: held[name] for name in sorted(held)}
    shown: dict[str, bool] = {}
    left = MAP_BYTES_MAX
    for name in sorted(held, key=lambda one: (held[one], one)):
        left -= len(name) + _ENTRY_BYTES
        if left < 0:
            break
        shown[name] = held[name]
    return shown


def _failures(faults: Mapping[str, Fault]) -> Iterable[ImageFailure]:
    for name, fault in list(faults.items())[:FAILURES_MAX]:
        yield ImageFailure(node=name, reason=fault.why, message=fault.message)


def _cut(listed: Mapping[str, bool], held: Mapping[str, bool]) -> str:
    """A reader of the map must not take it for whole."""
    if len(listed) == len(held):
        return ""
    return (
        f" nodeDeploymentMap lists {len(listed)} of {len(held)} nodes, because more do not fit;"
        " nodes without the image come first."
    )


def _deployed(verdict: _Verdict, cut: str) -> Condition:
    truths = {ImageState.DEPLOYED: Truth.TRUE, ImageState.UNKNOWN: Truth.UNKNOWN}
    return Condition(
        type=DEPLOYED,
        status=truths.get(verdict.state, Truth.FALSE),
        reason=verdict.why,
        message=verdict.message + cut,
    )


def _enabled(enablement: Enablement) -> Condition:
    return Condition(
        type=PRE_PULL_ENABLED,
        status=Truth.TRUE if enablement.is_on else Truth.FALSE,
        reason=enablement.by,
        message=enablement.message,
    )


def _held_as(observed: ObservedImage) -> Condition:
    if not observed.enablement.is_on:
        return Condition(
            type=HELD_AS_IMAGE_VOLUME,
            status=Truth.UNKNOWN,
            reason=ImageReason.DISABLED,
            message=observed.enablement.message,
        )
    holding = observed.holding
    is_volume = holding.way is HoldingWay.IMAGE_VOLUMES
    return Condition(
        type=HELD_AS_IMAGE_VOLUME,
        status=Truth.TRUE if is_volume else Truth.FALSE,
        reason=holding.way,
        message=holding.message,
    )


def _events(observed: ObservedImage, verdict: _Verdict) -> Iterable[RecordImageEvent]:
    """One for each change of state or of its reason."""
    before = conditions.find(observed.image.status.conditions, DEPLOYED)
    if before is not None and before.reason == verdict.why:
        return
    yield RecordImageEvent(
        key=observed.image.key,
        reason=verdict.why,
        warning=verdict.state is ImageState.ERROR or observed.problem is not None,
        because=verdict.message,
    )


def with_zero_counts(status: ImageStatus) -> dict[str, object]:
    """A count of none is a fact too: without it a table shows a blank."""
    zeros = {"nodeCount": 0, "deployedNodeCount": 0, "failedNodeCount": 0, "nodeDeploymentMap": {}}
    return {**zeros, **msgspec.to_builtins(status)}
