"""Plans the status of one Image: its state, the map of nodes, faults and conditions. Pure.

Readiness may flap on many nodes at once, so a status is written at an interval. It is written at
once if the Image reaches a state for the first time, if a problem that concerns no node comes or
goes, or if the reason of PrePullEnabled or of HeldAsImageVolume changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from lading.api.longhorn import FAILURES_MAX, Image, ImageFailure, ImageState, ImageStatus
from lading.kernel import conditions, planning
from lading.kernel.conditions import Condition, Truth
from lading.kernel.planning import Plan, RecordEvent, earliest
from lading.prepull import faults as causes
from lading.prepull import nodes, rules
from lading.prepull import plan as holder_plan
from lading.prepull.actions import WriteImageStatus
from lading.prepull.holding import Holding, HoldingWay
from lading.prepull.rules import DEPLOYED, HELD_AS_IMAGE_VOLUME, PRE_PULL_ENABLED
from lading.prepull.types import (
    Enablement,
    Fault,
    ImageReason,
    NodeRecord,
    ObservedPrePull,
    PrePullPeriods,
    PrePullProblem,
    PrePullSettings,
)

DEFAULT_PERIODS = PrePullPeriods()
MAP_BYTES_MAX = 400 * 1024
"""5,000 nodes with names of 70 characters; the API server takes no object above 1.5 MiB."""
_ENTRY_BYTES = 10
"""The size of an entry without the name: quotes, colon, true or false, comma."""
_PROBLEMS = {
    ImageReason.FOREIGN_DAEMON_SET,
    ImageReason.DAEMON_SET_REFUSED,
    ImageReason.HOLD_IMAGE_UNKNOWN,
    ImageReason.HOLD_KEY_UNKNOWN,
    ImageReason.INVALID_IMAGE,
    ImageReason.TOO_MANY_IMAGES,
}
"""They concern no node, so they do not flap."""
_STATES = {
    ImageReason.INVALID_IMAGE: ImageState.ERROR,
    ImageReason.TOO_MANY_IMAGES: ImageState.ERROR,
}
"""Problems of the Image itself; with all others it is deploying."""


class ObservedImage(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the plan of one status."""

    image: Image
    prepull: ObservedPrePull
    nodes: Mapping[str, NodeRecord] = {}
    creation_failure: Fault | None = None
    """Why nodes have no pod."""
    missing_secrets: tuple[str, ...] = ()
    """Pull secrets that a kubelet did not find."""
    status_at: datetime | None = None
    """When this process last wrote the status."""
    states_written: frozenset[ImageState] = frozenset()
    """The states that this process wrote for this generation."""


class ImageFacts(ObservedImage, frozen=True, kw_only=True):
    """With what follows from the input for this Image."""

    enablement: Enablement
    holding: Holding = Holding()
    container: str = ""
    problem: PrePullProblem | None = None
    owner_id: str = ""


class _Verdict(msgspec.Struct, frozen=True, kw_only=True):
    state: ImageState
    why: ImageReason
    message: str


def plan(observed: ObservedImage, settings: PrePullSettings, now: datetime) -> Plan:
    return plan_status(facts_of(observed, settings, now), now, settings.periods)


def facts_of(observed: ObservedImage, settings: PrePullSettings, now: datetime) -> ImageFacts:
    prepull = observed.prepull
    cargo = rules.cargo(prepull.images, settings.images)
    problem = cargo.problems.get(observed.image.metadata.name)
    return ImageFacts(
        **msgspec.structs.asdict(observed),
        enablement=holder_plan.enablement(prepull, settings),
        holding=holder_plan.holding_of(prepull, settings, now),
        container="" if problem else rules.container_of(observed.image),
        problem=problem or holder_plan.problem(prepull, settings, now),
        owner_id=settings.node_name,
    )


def plan_status(
    observed: ImageFacts, now: datetime, periods: PrePullPeriods = DEFAULT_PERIODS
) -> Plan:
    image, last = observed.image, observed.image.status
    found = _faults(observed, now, periods)
    grace = periods.registry_grace
    faults = {name: one for name, one in found.items() if nodes.is_fault(one, now, grace)}
    verdict = _verdict(observed, faults)
    recheck_at = _recheck_at(observed, found, now, periods)
    due_at = _due_at(observed, verdict, now, periods.status_interval)
    if due_at > now:  # not compared before: the map is large
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
    observed: ImageFacts, verdict: _Verdict, now: datetime, interval: timedelta
) -> datetime:
    last = observed.image.status
    if observed.status_at is None or last.observed_generation != observed.image.metadata.generation:
        return now
    before = {one.type: one.reason for one in last.conditions}
    state = verdict.state
    is_switched = (
        before.get(PRE_PULL_ENABLED) != observed.enablement.by
        or before.get(HELD_AS_IMAGE_VOLUME) != _held_as(observed).reason
        or (before.get(DEPLOYED) != verdict.why and {before.get(DEPLOYED), verdict.why} & _PROBLEMS)
        or (state != last.state and ImageState.UNKNOWN in (state, last.state))
    )
    if is_switched or state not in observed.states_written:
        return now
    return planning.due(observed.status_at, interval, now=now)


def _faults(observed: ImageFacts, now: datetime, periods: PrePullPeriods) -> dict[str, Fault]:
    """By node, sorted."""
    container = observed.container
    if not container or not observed.enablement.is_on:
        return {}
    found: dict[str, Fault] = {}
    for name, record in observed.nodes.items():
        fault = record.faults.get(container)
        since = record.without_pod_since
        if since is not None and now - since >= periods.pod_creation_grace:
            # An older pod may still hold the image.
            fault = None if container in record.held else observed.creation_failure
        if fault is not None:
            found[name] = causes.with_missing_secrets(fault, observed.missing_secrets)
    return dict(sorted(found.items()))


def _recheck_at(
    observed: ImageFacts, found: Mapping[str, Fault], now: datetime, periods: PrePullPeriods
) -> datetime | None:
    """When a fault begins to count, a missing pod needs an explanation, or the way may change."""
    if not observed.enablement.is_on:
        return None
    grace = periods.registry_grace
    counts_at = (
        one.since + grace
        for one in found.values()
        if one.since and not nodes.is_fault(one, now, grace)
    )
    since = observed.prepull.roll_out.without_pod_since
    explained_at = None
    if since is not None:
        explained_at = max(since + periods.pod_creation_grace, now + periods.missing_pods_interval)
    return earliest(*counts_at, explained_at, observed.holding.recheck_at)


def _verdict(observed: ImageFacts, faults: Mapping[str, Fault]) -> _Verdict:
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
    unknown = sum(observed.container in one.unknown for one in ready.values())
    if unknown and held + unknown == len(ready):
        message = (
            f"{counted} On {unknown} the pod runs, but the node has no agent, and its kubelet lists"
            " too many images to show whether the image is still there."
        )
        return _Verdict(state=ImageState.UNKNOWN, why=ImageReason.NOT_VERIFIED, message=message)
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
    observed: ImageFacts, verdict: _Verdict, faults: Mapping[str, Fault], now: datetime
) -> ImageStatus:
    generation = observed.image.metadata.generation
    is_held = observed.enablement.is_on and bool(observed.container)
    shown = observed.nodes if is_held else {}
    held = {
        name: observed.container in one.held
        for name, one in shown.items()
        if observed.container not in one.unknown
    }
    listed = _bounded_map(held)
    return ImageStatus(
        owner_id=observed.owner_id,
        state=verdict.state,
        node_deployment_map=listed,
        observed_generation=generation,
        node_count=len(shown),
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
    """If not all nodes fit, those without the image come first."""
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
    """Says that the map does not list all nodes."""
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


def _held_as(observed: ImageFacts) -> Condition:
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


def _events(observed: ImageFacts, verdict: _Verdict) -> Iterable[RecordEvent]:
    """One for each change of state or of its reason."""
    before = conditions.find(observed.image.status.conditions, DEPLOYED)
    if before is not None and before.reason == verdict.why:
        return
    yield RecordEvent(
        reason=verdict.why,
        warning=verdict.state is ImageState.ERROR or observed.problem is not None,
        because=verdict.message,
    )
