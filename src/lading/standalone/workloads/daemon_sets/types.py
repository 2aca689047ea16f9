"""What a DaemonSet's plan is made of. Pure."""

from dataclasses import dataclass

from lading.standalone.workloads.kinds import DaemonSet, Node, Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDaemonSet:
    daemon_set: DaemonSet | None
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    """Those that the DaemonSet controls."""
