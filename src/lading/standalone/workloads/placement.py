"""On which nodes a pod may run: node selector, node affinity, taints and tolerations. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from lading.kernel.conditions import Truth
from lading.standalone.workloads.kinds import Document, Node, PodSpec, Taint, Toleration

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status is Truth.TRUE for one in node.status.conditions)


def fits(node: Node, spec: PodSpec) -> bool:
    """Whether the pod asks for this node; taints are not looked at."""
    labels = node.metadata.labels
    is_selected = all(labels.get(key) == value for key, value in spec.node_selector.items())
    return is_selected and _affinity_fits(node, spec.affinity)


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
    for term in _terms(spec.affinity):
        for field in term.get("matchFields") or ():
            if (field.get("key"), field.get("operator")) == ("metadata.name", "In"):
                return str(field["values"][0])
    return ""


def on_node(spec: Document, name: str) -> Document:
    """The spec of a pod that is for one node: each term of its affinity names the node too."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    affinity = dict(spec.get("affinity") or {})
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    terms = (node_affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    required = {"nodeSelectorTerms": [{**term, "matchFields": fields} for term in terms]}
    affinity["nodeAffinity"] = {**node_affinity, _REQUIRED: required}
    return {**spec, "affinity": affinity}


def _affinity_fits(node: Node, affinity: Document) -> bool:
    terms = _terms(affinity)
    return not terms or any(_term_fits(node, term) for term in terms)


def _terms(affinity: Document) -> list[Document]:
    required = (affinity.get("nodeAffinity") or {}).get(_REQUIRED) or {}
    found: list[Document] = required.get("nodeSelectorTerms") or []
    return found


def _term_fits(node: Node, term: Document) -> bool:
    """An empty term fits no node."""
    by_label = term.get("matchExpressions") or ()
    by_field = term.get("matchFields") or ()
    names = {"metadata.name": node.metadata.name}
    return bool(by_label or by_field) and all(
        (
            *(_expression_fits(one, node.metadata.labels) for one in by_label),
            *(_expression_fits(one, names) for one in by_field),
        )
    )


def _expression_fits(expression: Document, labels: Mapping[str, str]) -> bool:
    found: Any = labels.get(expression.get("key", ""))
    values: list[str] = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt":
            return _is_number(found) and int(found) > int(values[0])
        case "Lt":
            return _is_number(found) and int(found) < int(values[0])
    return False


def _is_number(text: str | None) -> bool:
    return text is not None and text.removeprefix("-").isdecimal()


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)
