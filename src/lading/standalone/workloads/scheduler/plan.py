"""Which node a pod is bound to, and that a pod goes with its node. Pure.

A pod with a scheduling gate is not looked at. A pod of a DaemonSet goes to the node that it names;
any other pod goes to a Ready node that it fits and tolerates, the one with the fewest pods.
"""

from collections.abc import Hashable, Mapping
from datetime import datetime

import msgspec

from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.standalone.workloads import placement
from lading.standalone.workloads.actions import Delete, RecordWorkloadEvent
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import PODS, Condition, Document, Node, Pod


class ObservedScheduling(msgspec.Struct, frozen=True, kw_only=True):
    pod: Pod | None
    nodes: tuple[Node, ...]
    pods_by_node: Mapping[str, int]


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    resource_version: str
    node: str
    because: str
    lane: Hashable = "pod"


class WriteCondition(msgspec.Struct, frozen=True, kw_only=True):
    """The pod's condition PodScheduled."""

    key: Key
    condition: Document
    because: str
    lane: Hashable = "pod"


def plan(observed: ObservedScheduling, now: datetime) -> Plan:
    pod = observed.pod
    if pod is None or pod.spec.scheduling_gates or pod.metadata.deletion_timestamp:
        return Plan()
    if pod.spec.node_name:
        is_lost = pod.spec.node_name not in {node.metadata.name for node in observed.nodes}
        return Plan(actions=(_lost(pod),) if is_lost else _scheduled(pod, now))
    if pod.is_finished:
        return Plan()
    node = _chosen(pod, observed)
    if node is None:
        return Plan(actions=_unschedulable(pod, observed, now))
    bind = Bind(
        key=pod.key,
        resource_version=pod.metadata.resource_version,
        node=node.metadata.name,
        because=f"{node.metadata.name} fits",
    )
    note = f"Successfully assigned {pod.key} to {node.metadata.name}"
    event = RecordWorkloadEvent(
        resource=PODS, about=pod, reason=KubernetesEvent.SCHEDULED, because=note
    )
    return Plan(actions=(bind, event))


def _chosen(pod: Pod, observed: ObservedScheduling) -> Node | None:
    fitting = [node for node in observed.nodes if _fits(pod, node)]
    return min(
        fitting,
        key=lambda node: (
            observed.pods_by_node.get(node.metadata.name, 0),
            node.metadata.name,
        ),
        default=None,
    )


def _fits(pod: Pod, node: Node) -> bool:
    """A pod that is for one node goes there whether the node is Ready or not."""
    is_meant = placement.target_node(pod.spec) == node.metadata.name
    return (
        (is_meant or placement.is_ready(node))
        and placement.fits(node, pod.spec)
        and placement.is_tolerated(node, pod.spec.tolerations, "NoSchedule", "NoExecute")
    )


def _lost(pod: Pod) -> Delete:
    because = f"its node {pod.spec.node_name} is gone"
    return Delete(resource=PODS, key=pod.key, uid=pod.metadata.uid, because=because)


def _scheduled(pod: Pod, now: datetime) -> tuple[WriteCondition, ...]:
    found = _condition(pod)
    if found is not None and found.status is Truth.TRUE:
        return ()
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "reason": None,
        "message": None,
        "lastTransitionTime": conditions.timestamp(now),
    }
    because = f"the pod is bound to {pod.spec.node_name}"
    return (WriteCondition(key=pod.key, condition=condition, because=because),)


def _unschedulable(
    pod: Pod, observed: ObservedScheduling, now: datetime
) -> tuple[WriteCondition | RecordWorkloadEvent, ...]:
    message = f"0/{len(observed.nodes)} nodes are available: no Ready node fits the pod."
    found = _condition(pod)
    if found is not None and (found.reason, found.message) == ("Unschedulable", message):
        return ()
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": conditions.timestamp(now),
    }
    return (
        WriteCondition(key=pod.key, condition=condition, because=message),
        RecordWorkloadEvent(
            resource=PODS,
            about=pod,
            reason=KubernetesEvent.FAILED_SCHEDULING,
            because=message,
            warning=True,
        ),
    )


def _condition(pod: Pod) -> Condition | None:
    return next((one for one in pod.status.conditions if one.type == "PodScheduled"), None)
