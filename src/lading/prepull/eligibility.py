"""On which nodes a pod of the DaemonSet may run, as the DaemonSet controller decides it. Pure.

A node that is cordoned or not Ready counts too: the pods of a DaemonSet tolerate that.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lading.api.core import Node, Taint
from lading.prepull.types import PrePullSettings, Toleration

_EFFECTS = {"NoSchedule", "NoExecute"}
_TOLERATED = {
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
}
"""What the DaemonSet controller lets every one of its pods tolerate."""


def is_eligible(node: Node, settings: PrePullSettings) -> bool:
    labels = node.metadata.labels
    return (
        not node.metadata.deletion_timestamp
        and all(labels.get(key) == value for key, value in settings.node_labels.items())
        and _affinity_matches(node, settings.affinity)
        and all(_is_tolerated(taint, settings.tolerations) for taint in node.spec.taints)
    )


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    if taint.effect not in _EFFECTS or taint.key in _TOLERATED:
        return True
    return any(
        one.key in ("", taint.key)
        and one.value in ("", taint.value)
        and one.effect in ("", taint.effect)
        for one in tolerations
    )


def _affinity_matches(node: Node, affinity: Mapping[str, Any]) -> bool:
    """Terms are alternatives; what stands in one term must hold together."""
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not required:
        return True
    return any(_term_matches(node, term) for term in required.get("nodeSelectorTerms") or ())


def _term_matches(node: Node, term: Mapping[str, Any]) -> bool:
    labels = node.metadata.labels
    of_labels = term.get("matchExpressions") or ()
    of_fields = term.get("matchFields") or ()
    if not of_labels and not of_fields:
        return False
    fields = {"metadata.name": node.metadata.name}
    return all(_holds(one, labels) for one in of_labels) and all(
        _holds(one, fields) for one in of_fields
    )


def _holds(expression: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    value, wanted = found.get(expression.get("key", "")), expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _number(value) > _number(wanted[0]) if value and wanted else False
        case "Lt":
            return _number(value) < _number(wanted[0]) if value and wanted else False
        case _:
            return False


def _number(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else 0


def node_of(affinity: Mapping[str, Any]) -> str:
    """The node that the DaemonSet controller made a pod for, before it is scheduled there."""
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            if one.get("key") == "metadata.name" and one.get("values"):
                return str(one["values"][0])
    return ""
