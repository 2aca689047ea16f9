"""The node of a pod, and the deletion of pods on nodes that no longer exist. Pure.

A pod with a scheduling gate waits. A pod of a DaemonSet goes to the node that it names. Any other
pod goes to the Ready node with the fewest pods among those that it fits and tolerates.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from lading.embedded.workloads import kinds, placement
from lading.embedded.workloads.actions import Delete, KubernetesEvent, Patch
from lading.embedded.workloads.kinds import PODS, Node, Pod
from lading.kernel import conditions
from lading.kernel.planning import Action, Plan, RecordEvent


class ObservedScheduling(msgspec.Struct, frozen=True, kw_only=True):
    pod: Pod | None
    nodes: tuple[Node, ...]
    pods_by_node: Mapping[str, int]


def plan(observed: ObservedScheduling, now: datetime) -> Plan:
    pod = observed.pod
    if pod is None or pod.spec.scheduling_gates or pod.metadata.deletion_timestamp:
        return Plan()
    if pod.spec.node_name:
        if pod.spec.node_name not in {node.metadata.name for node in observed.nodes}:
            because = f"its node {pod.spec.node_name} does not exist"
            delete = Delete(resource=PODS, key=pod.key, uid=pod.metadata.uid, because=because)
            return Plan(actions=(delete,))
        return Plan(actions=() if is_scheduled(pod) else (_condition(pod, now),))
    if pod.is_finished:
        return Plan()
    node = _chosen(pod, observed)
    return Plan(actions=_unschedulable(pod, observed, now) if node is None else _bound(pod, node))


def is_scheduled(pod: Pod) -> bool:
    return kinds.is_true(pod.status.conditions, "PodScheduled")


def _chosen(pod: Pod, observed: ObservedScheduling) -> Node | None:
    def load(node: Node) -> tuple[int, str]:
        return observed.pods_by_node.get(node.metadata.name, 0), node.metadata.name

    return min((node for node in observed.nodes if _fits(pod, node)), key=load, default=None)


def _fits(pod: Pod, node: Node) -> bool:
    """A pod that names one node goes there even if the node is not Ready."""
    is_named = placement.target_node(pod.spec) == node.metadata.name
    return (
        (is_named or kinds.is_true(node.status.conditions, "Ready"))
        and placement.fits(node, pod.spec)
        and placement.is_tolerated(node, pod.spec.tolerations, "NoSchedule", "NoExecute")
    )


def _bound(pod: Pod, node: Node) -> tuple[Action, ...]:
    bind = Patch(
        resource=PODS,
        key=pod.key,
        body={
            "metadata": {"resourceVersion": pod.metadata.resource_version},
            "spec": {"nodeName": node.metadata.name},
        },
        because=f"{node.metadata.name} fits",
        subresource="",
    )
    note = f"Successfully assigned {pod.key} to {node.metadata.name}"
    return bind, RecordEvent(reason=KubernetesEvent.SCHEDULED, because=note)


def _unschedulable(pod: Pod, observed: ObservedScheduling, now: datetime) -> tuple[Action, ...]:
    message = f"0/{len(observed.nodes)} nodes are available: no Ready node fits the pod."
    if any(one.reason and one.message == message for one in pod.status.conditions):
        return ()
    event = RecordEvent(reason=KubernetesEvent.FAILED_SCHEDULING, because=message, warning=True)
    return _condition(pod, now, message), event


def _condition(pod: Pod, now: datetime, problem: str = "") -> Patch:
    """The condition PodScheduled; a problem makes it False."""
    condition = {
        "type": "PodScheduled",
        "status": "False" if problem else "True",
        "reason": "Unschedulable" if problem else None,
        "message": problem or None,
        "lastTransitionTime": conditions.timestamp(now),
    }
    return Patch(
        resource=PODS,
        key=pod.key,
        body={"status": {"conditions": [condition]}},
        because=problem or f"the pod is bound to {pod.spec.node_name}",
        is_strategic=True,
    )
