"""On which nodes a pod of the DaemonSet may run, as the DaemonSet controller decides it. Pure.

A node that is cordoned or not Ready counts too: the pods of a DaemonSet tolerate that.
"""

from collections.abc import Iterable

from lading.api.core import Node, Taint
from lading.kernel import node_affinity
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
        and node_affinity.fits(settings.affinity, node.metadata.name, labels)
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
