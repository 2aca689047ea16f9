"""What a DaemonSet's plan is made of. Pure."""

import msgspec

from lading.standalone.workloads.kinds import DaemonSet, Node, Pod


class ObservedDaemonSet(msgspec.Struct, frozen=True, kw_only=True):
    daemon_set: DaemonSet | None
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    """Those that the DaemonSet controls."""
