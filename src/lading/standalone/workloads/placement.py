"""On which nodes a pod may run: node selector, node affinity, taints and tolerations. Pure."""

from collections.abc import Iterable

from lading.kernel import node_affinity
from lading.kernel.conditions import Truth
from lading.standalone.workloads.kinds import Document, Node, PodSpec, Taint, Toleration

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions)


def fits(node: Node, spec: PodSpec) -> bool:
    """Whether the pod asks for this node; taints are not looked at."""
    labels = node.metadata.labels
    is_selected = all(labels.get(key) == value for key, value in spec.node_selector.items())
    return is_selected and node_affinity.fits(spec.affinity, node.metadata.name, labels)


def is_tolerated(node: Node, tolerations: Iterable[Toleration], *effects: str) -> bool:
    """Whether the pod tolerates every taint of the node that has one of the effects."""
    given = tuple(tolerations)
    return all(
        any(_tolerates(one, taint) for one in given)
        for taint in taints(node)
        if taint.effect in effects
    )


def taints(node: Node) -> tuple[Taint, ...]:
    """A cordoned node is tainted, also where no controller writes the taint down."""
    if node.spec.unschedulable and UNSCHEDULABLE not in node.spec.taints:
        return (*node.spec.taints, UNSCHEDULABLE)
    return node.spec.taints


def target_node(spec: PodSpec) -> str:
    """The node that a pod of a DaemonSet is for, before it is bound; empty for any node."""
    return node_affinity.target(spec.affinity)


def on_node(spec: Document, name: str) -> Document:
    """The spec of a pod that is for one node: each term of its affinity names the node too."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    affinity = dict(spec.get("affinity") or {})
    of_nodes = affinity.get("nodeAffinity") or {}
    terms = node_affinity.terms(affinity) or ({},)
    required = {"nodeSelectorTerms": [{**term, "matchFields": fields} for term in terms]}
    affinity["nodeAffinity"] = {**of_nodes, node_affinity.REQUIRED: required}
    return {**spec, "affinity": affinity}


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)
