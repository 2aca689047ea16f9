"""Which pods of a DaemonSet to create and to delete, and its status. Pure.

Every node where the pod may run gets one. After a change of the template all nodes update at once.
With a surge an old pod stays until its successor is ready; an old pod that is not ready does not.
"""

import hashlib
from collections.abc import Collection, Iterator
from datetime import datetime

import msgspec

from lading.embedded.workloads import actions, kinds, placement
from lading.embedded.workloads.actions import Create, Delete, Patch
from lading.embedded.workloads.kinds import (
    DAEMON_SETS,
    PODS,
    DaemonSet,
    DaemonSetStatus,
    Document,
    Node,
    Pod,
    PodSpec,
)
from lading.kernel.planning import Action, Plan

HASH_LABEL = "controller-revision-hash"
HASH_CHARACTERS = 10
_TOLERATED = {
    "NoExecute": ("not-ready", "unreachable"),
    "NoSchedule": ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"),
}
"""The taints that every pod of a DaemonSet tolerates, by effect."""


class ObservedDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    daemon_set: DaemonSet | None
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    """The pods that the DaemonSet controls."""


class _NodeState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    should_run: bool
    may_stay: bool
    pods: tuple[Pod, ...]
    """The pods for this node, the oldest first. A deleted pod counts until it has ended."""
    revision: str

    @property
    def ended(self) -> list[Pod]:
        return [one for one in self._live() if one.is_finished]

    def running(self, *, is_new: bool) -> list[Pod]:
        """The pods of the current template, or of older ones."""
        live = (one for one in self._live() if not one.is_finished)
        return [one for one in live if _is_of(one, self.revision) is is_new]

    def _live(self) -> Iterator[Pod]:
        return (one for one in self.pods if not one.metadata.deletion_timestamp)


def plan(observed: ObservedDaemonSet, now: datetime) -> Plan:
    daemon_set = observed.daemon_set
    if daemon_set is None:
        return Plan()
    states = _states(daemon_set, observed)
    found: list[Action] = []
    if not daemon_set.metadata.deletion_timestamp:
        taken = {pod.metadata.name for pod in observed.pods}
        for state in states:
            found += _changes(daemon_set, state, taken)
    status = _status(states, daemon_set)
    if status != daemon_set.status:
        found.append(_write(daemon_set, status))
    return Plan(actions=tuple(found))


def _states(daemon_set: DaemonSet, observed: ObservedDaemonSet) -> tuple[_NodeState, ...]:
    spec = msgspec.convert(_tolerant_spec(daemon_set), PodSpec)
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(observed.pods, key=_age):
        if not (pod.metadata.deletion_timestamp and pod.is_finished):
            target = pod.spec.node_name or placement.target_node(pod.spec)
            by_node.setdefault(target, []).append(pod)
    nodes = {node.metadata.name: node for node in observed.nodes}
    return tuple(
        _state(name, nodes.get(name), by_node.get(name, ()), spec, revision_hash(daemon_set))
        for name in sorted({*nodes, *by_node})
    )


def _state(
    name: str, node: Node | None, pods: Collection[Pod], spec: PodSpec, revision: str
) -> _NodeState:
    """No pod may stay on a node that does not exist."""

    def tolerated(effect: str) -> bool:
        return node is not None and placement.is_tolerated(node, spec.tolerations, effect)

    may_stay = node is not None and placement.fits(node, spec) and tolerated("NoExecute")
    return _NodeState(
        name=name,
        should_run=may_stay and tolerated("NoSchedule"),
        may_stay=may_stay,
        pods=tuple(pods),
        revision=revision,
    )


def _age(pod: Pod) -> tuple[bool, str, str]:
    """A pod that has a node comes first, then the older one."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp, pod.metadata.name


def _is_of(pod: Pod, revision: str) -> bool:
    return pod.metadata.labels.get(HASH_LABEL) == revision


def _changes(daemon_set: DaemonSet, state: _NodeState, taken: Collection[str]) -> Iterator[Action]:
    old, new = state.running(is_new=False), state.running(is_new=True)
    surges = daemon_set.spec.update_strategy.rolling_update.max_surge not in (0, "0%")
    if not state.may_stay:
        leaving = {"the pod may not run on its node": [*state.ended, *old, *new]}
    else:
        is_replaced = bool(old and new) and (new[0].is_ready or not old[0].is_ready)
        outdated = old[:1] if is_replaced or not surges else []
        leaving = {
            "the pod has ended": state.ended,
            "the node has an older pod": [*old[1:], *new[1:]],
            "the pod is of an older template": outdated,
        }
    for because, pods in leaving.items():
        for pod in pods:
            yield Delete(resource=PODS, key=pod.key, uid=pod.metadata.uid, because=because)
    if state.should_run and (not state.pods or (surges and old and not new)):
        body = pod_for(daemon_set, state.name, taken=taken)
        yield Create(resource=PODS, body=body, because=f"{state.name} has no current pod")


def _status(states: tuple[_NodeState, ...], daemon_set: DaemonSet) -> DaemonSetStatus:
    """If a node has two pods, the older one counts."""
    wanted = [state for state in states if state.should_run]
    first = [state.pods[0] for state in wanted if state.pods]
    ready = sum(pod.is_ready for pod in first)
    return DaemonSetStatus(
        observed_generation=daemon_set.metadata.generation,
        desired_number_scheduled=len(wanted),
        current_number_scheduled=len(first),
        number_misscheduled=sum(bool(one.pods) for one in states if not one.should_run),
        number_ready=ready,
        number_available=ready,
        number_unavailable=len(wanted) - ready,
        updated_number_scheduled=sum(_is_of(pod, revision_hash(daemon_set)) for pod in first),
    )


def _write(daemon_set: DaemonSet, status: DaemonSetStatus) -> Patch:
    body = msgspec.to_builtins(status)
    for name in ("numberAvailable", "numberUnavailable", "updatedNumberScheduled"):
        body[name] = body[name] or None
    return actions.write_status(
        DAEMON_SETS, daemon_set, body, because="the counts of its pods changed"
    )


def revision_hash(daemon_set: DaemonSet) -> str:
    """The hash of the template, which marks the pods that are up to date."""
    content = msgspec.json.encode(daemon_set.spec.template, order="sorted")
    return hashlib.sha256(content).hexdigest()[:HASH_CHARACTERS]


def pod_for(daemon_set: DaemonSet, node: str, *, taken: Collection[str]) -> Document:
    revision = revision_hash(daemon_set)
    pod = kinds.pod_from_template(
        DAEMON_SETS,
        daemon_set,
        daemon_set.spec.template,
        purpose=f"{node} {revision}",
        taken=taken,
    )
    labels = {**pod["metadata"].get("labels", {}), HASH_LABEL: revision}
    spec = placement.on_node(_tolerant_spec(daemon_set), node)
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}, "spec": spec}


def _tolerant_spec(daemon_set: DaemonSet) -> Document:
    spec: Document = daemon_set.spec.template.get("spec") or {}
    given = spec.get("tolerations") or []
    added = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        for effect, names in _TOLERATED.items()
        for name in names
    ]
    return {**spec, "tolerations": [*given, *(one for one in added if one not in given)]}
