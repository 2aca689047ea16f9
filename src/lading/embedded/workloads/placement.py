"""Whether a pod may run on a node: node selector, affinity, taints and tolerations. Pure."""

from collections.abc import Iterable

from lading.embedded.workloads.kinds import Document, Node, PodSpec, Taint, Toleration
from lading.kernel import node_affinity

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def fits(node: Node, spec: PodSpec) -> bool:
    """Whether node selector and affinity allow the node, without regard to taints."""
    labels = node.metadata.labels
    is_selected = all(labels.get(key) == value for key, value in spec.node_selector.items())
    return is_selected and node_affinity.fits(spec.affinity, node.metadata.name, labels)


def is_tolerated(node: Node, tolerations: Iterable[Toleration], *effects: str) -> bool:
    """Whether the tolerations cover all taints of the node that have one of these effects."""
    given = tuple(tolerations)
    return all(
        any(_tolerates(one, taint) for one in given)
        for taint in taints(node)
        if taint.effect in effects
    )


def taints(node: Node) -> tuple[Taint, ...]:
    """The taints of a node; a cordoned node has one more, which no controller here writes."""
    if node.spec.unschedulable and UNSCHEDULABLE not in node.spec.taints:
        return (*node.spec.taints, UNSCHEDULABLE)
    return node.spec.taints


def target_node(spec: PodSpec) -> str:
    """The node that a pod of a DaemonSet names before it is bound, or ""."""
    return node_affinity.target(spec.affinity)


def on_node(spec: Document, name: str) -> Document:
    """The pod spec with an affinity for one node."""
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
