"""Which pods of a DaemonSet to make and to delete, and its status. Pure.

The rules are those of kube-controller-manager: one pod on each node where it may run; with a surge
an old pod stays until its successor is available, and an old pod that is not ready goes at once.
"""

import math
from collections.abc import Iterable
from datetime import datetime

import msgspec

from lading.kernel.objects import Key
from lading.kernel.planning import Action, Plan, earliest
from lading.standalone.workloads import placement, pod_readiness
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RecordWorkloadEvent,
    WriteWorkloadStatus,
)
from lading.standalone.workloads.daemon_sets import template
from lading.standalone.workloads.daemon_sets.types import ObservedDaemonSet
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import (
    DAEMON_SETS,
    PODS,
    DaemonSet,
    DaemonSetStatus,
    Node,
    Pod,
    PodSpec,
)


class _NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """One node with the pods that are there for it, the oldest first."""

    name: str
    should_run: bool
    may_stay: bool
    pods: tuple[Pod, ...]
    """Deleted pods that have not ended yet count too: no other pod comes before they are gone."""
    old: tuple[Pod, ...]
    new: tuple[Pod, ...]
    ended: tuple[Pod, ...]


class _Changes(msgspec.Struct, frozen=True, kw_only=True):
    create_on: tuple[str, ...] = ()
    delete: tuple[tuple[Pod, str], ...] = ()
    """Pods with the reason."""


def plan(observed: ObservedDaemonSet, now: datetime) -> Plan:
    daemon_set = observed.daemon_set
    if daemon_set is None:
        return Plan()
    states = _states(daemon_set, observed)
    actions: list[Action] = []
    if not daemon_set.metadata.deletion_timestamp:
        changes = _merged(_manage(daemon_set, states, now), _roll(daemon_set, states, now))
        actions += _actions(daemon_set, changes, observed)
    status = _status(daemon_set, states, now)
    if status != daemon_set.status:
        actions.append(_write(daemon_set, status))
    return Plan(actions=tuple(actions), recheck_at=_next_available(daemon_set, observed.pods, now))


def _states(daemon_set: DaemonSet, observed: ObservedDaemonSet) -> tuple[_NodeState, ...]:
    spec = template.pod_spec(daemon_set)
    revision = template.revision_hash(daemon_set)
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(observed.pods, key=_age):
        if pod.metadata.deletion_timestamp and pod.is_finished:
            continue
        by_node.setdefault(pod.spec.node_name or placement.target_node(pod.spec), []).append(pod)
    nodes = {node.metadata.name: node for node in observed.nodes}
    return tuple(
        _state(name, nodes.get(name), by_node.get(name, []), spec, revision)
        for name in sorted({*nodes, *by_node})
    )


def _state(
    name: str, node: Node | None, pods: list[Pod], spec: PodSpec, revision: str
) -> _NodeState:
    """A node that is gone may keep no pod."""
    fits = node is not None and placement.fits(node, spec)
    may_stay = fits and node is not None and _tolerated(node, spec, "NoExecute")
    should_run = may_stay and node is not None and _tolerated(node, spec, "NoSchedule")
    live = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    running = [pod for pod in live if not pod.is_finished]
    return _NodeState(
        name=name,
        should_run=should_run,
        may_stay=may_stay,
        pods=tuple(pods),
        old=tuple(pod for pod in running if not _is_new(pod, revision)),
        new=tuple(pod for pod in running if _is_new(pod, revision)),
        ended=tuple(pod for pod in live if pod.is_finished),
    )


def _tolerated(node: Node, spec: PodSpec, effect: str) -> bool:
    return placement.is_tolerated(node, spec.tolerations, effect)


def _age(pod: Pod) -> tuple[bool, str, str]:
    """A pod that has a node comes first, then the older one."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp, pod.metadata.name


def _is_new(pod: Pod, revision: str) -> bool:
    return pod.metadata.labels.get(template.HASH_LABEL) == revision


def _manage(daemon_set: DaemonSet, states: Iterable[_NodeState], now: datetime) -> _Changes:
    """The right number of pods on each node, whatever their template is."""
    create: list[str] = []
    delete: list[tuple[Pod, str]] = []
    for state in states:
        if state.should_run and not state.pods:
            create.append(state.name)
        elif not state.may_stay:
            leaving = (*state.old, *state.new, *state.ended)
            delete += [(pod, "the pod may not run on its node") for pod in leaving]
        else:
            delete += [(pod, f"the pod {pod.status.phase.lower()}") for pod in state.ended]
            delete += _excess(daemon_set, state, now)
    return _Changes(create_on=tuple(create), delete=tuple(delete))


def _excess(daemon_set: DaemonSet, state: _NodeState, now: datetime) -> list[tuple[Pod, str]]:
    if _surge_max(daemon_set, 1) == 0:
        oldest_first = sorted((*state.old, *state.new), key=_age)
        return [(pod, "the node has an older pod") for pod in oldest_first[1:]]
    excess = [(pod, "the node has an older pod") for pod in (*state.old[1:], *state.new[1:])]
    if state.old and state.new:
        if not pod_readiness.is_ready(state.old[0]):
            excess.append((state.old[0], "the old pod is not ready and has a successor"))
        elif pod_readiness.is_available(state.new[0], daemon_set.spec.min_ready_seconds, now):
            excess.append((state.old[0], "its successor is available"))
    return excess


def _roll(daemon_set: DaemonSet, states: tuple[_NodeState, ...], now: datetime) -> _Changes:
    """Replaces pods of older templates, as many at once as the strategy allows."""
    if daemon_set.spec.update_strategy.type != "RollingUpdate":
        return _Changes()
    desired = sum(state.should_run for state in states)
    surge = _surge_max(daemon_set, desired)
    if surge:
        return _surging(daemon_set, states, surge, now)
    return _replacing(daemon_set, states, _unavailable_max(daemon_set, desired), now)


def _surging(
    daemon_set: DaemonSet, states: Iterable[_NodeState], surge: int, now: datetime
) -> _Changes:
    at_once: list[str] = []
    candidates: list[str] = []
    for state in states:
        if not state.may_stay or not state.old:
            continue
        if state.new:
            is_there = _is_available(daemon_set, state.new[0], now)
            surge -= 0 if is_there else 1
        elif state.should_run:
            is_available = _is_available(daemon_set, state.old[0], now)
            (candidates if is_available else at_once).append(state.name)
    return _Changes(create_on=(*at_once, *candidates[: max(surge, 0)]))


def _replacing(
    daemon_set: DaemonSet, states: Iterable[_NodeState], unavailable_max: int, now: datetime
) -> _Changes:
    at_once: list[Pod] = []
    candidates: list[Pod] = []
    unavailable = 0
    for state in states:
        if not state.should_run and not state.pods:
            continue
        if state.new or not state.old:
            is_there = bool(state.new) and _is_available(daemon_set, state.new[0], now)
            unavailable += 0 if is_there and not state.old else 1
        elif _is_available(daemon_set, state.old[0], now):
            candidates.append(state.old[0])
        else:
            at_once.append(state.old[0])
    left = max(unavailable_max - unavailable - len(at_once), 0)
    outdated = (*at_once, *candidates[:left])
    return _Changes(delete=tuple((pod, "the pod is of an older template") for pod in outdated))


def _is_available(daemon_set: DaemonSet, pod: Pod, now: datetime) -> bool:
    return pod_readiness.is_available(pod, daemon_set.spec.min_ready_seconds, now)


def _surge_max(daemon_set: DaemonSet, desired: int) -> int:
    return _count(daemon_set.spec.update_strategy.rolling_update.max_surge, desired)


def _unavailable_max(daemon_set: DaemonSet, desired: int) -> int:
    """One at least, or the roll-out would never go on."""
    rolling = daemon_set.spec.update_strategy.rolling_update
    return max(_count(rolling.max_unavailable, desired), 1)


def _count(amount: int | str, of: int) -> int:
    """A share is rounded up."""
    if isinstance(amount, int):
        return amount
    return math.ceil(int(amount.removesuffix("%")) * of / 100)


def _merged(*changes: _Changes) -> _Changes:
    deleted = {pod.metadata.uid: (pod, why) for one in changes for pod, why in one.delete}
    return _Changes(
        create_on=tuple(dict.fromkeys(name for one in changes for name in one.create_on)),
        delete=tuple(deleted.values()),
    )


def _actions(daemon_set: DaemonSet, changes: _Changes, observed: ObservedDaemonSet) -> list[Action]:
    taken = frozenset(pod.metadata.name for pod in observed.pods)
    actions: list[Action] = []
    for node in changes.create_on:
        body = template.pod_for(daemon_set, node, taken=taken)
        name = body["metadata"]["name"]
        actions.append(Create(resource=PODS, body=body, because=f"{node} has no current pod"))
        actions.append(
            _record(daemon_set, KubernetesEvent.SUCCESSFUL_CREATE, f"Created pod: {name}")
        )
    for pod, why in changes.delete:
        key = Key(pod.metadata.namespace, pod.metadata.name)
        actions.append(Delete(resource=PODS, key=key, uid=pod.metadata.uid, because=why))
        actions.append(
            _record(daemon_set, KubernetesEvent.SUCCESSFUL_DELETE, f"Deleted pod: {key.name}")
        )
    return actions


def _record(daemon_set: DaemonSet, reason: KubernetesEvent, note: str) -> RecordWorkloadEvent:
    return RecordWorkloadEvent(resource=DAEMON_SETS, about=daemon_set, reason=reason, because=note)


def _status(
    daemon_set: DaemonSet, states: tuple[_NodeState, ...], now: datetime
) -> DaemonSetStatus:
    """Of two pods on one node the older one counts."""
    revision = template.revision_hash(daemon_set)
    wanted = [state for state in states if state.should_run]
    first = [state.pods[0] for state in wanted if state.pods]
    available = sum(_is_available(daemon_set, pod, now) for pod in first)
    return DaemonSetStatus(
        observed_generation=daemon_set.metadata.generation,
        desired_number_scheduled=len(wanted),
        current_number_scheduled=len(first),
        number_misscheduled=sum(bool(one.pods) for one in states if not one.should_run),
        number_ready=sum(pod_readiness.is_ready(pod) for pod in first),
        number_available=available,
        number_unavailable=len(wanted) - available,
        updated_number_scheduled=sum(_is_new(pod, revision) for pod in first),
    )


def _write(daemon_set: DaemonSet, status: DaemonSetStatus) -> WriteWorkloadStatus:
    body = msgspec.to_builtins(status)
    for name in ("numberAvailable", "numberUnavailable", "updatedNumberScheduled"):
        body[name] = body[name] or None
    return WriteWorkloadStatus(
        resource=DAEMON_SETS,
        key=daemon_set.key,
        resource_version=daemon_set.metadata.resource_version,
        status=body,
        because="the counts of its pods changed",
    )


def _next_available(daemon_set: DaemonSet, pods: Iterable[Pod], now: datetime) -> datetime | None:
    """When a pod becomes available that is ready for too short a time now."""
    seconds = daemon_set.spec.min_ready_seconds
    times = (pod_readiness.available_at(pod, seconds) for pod in pods)
    return earliest(*(at for at in times if at is not None and at > now))
