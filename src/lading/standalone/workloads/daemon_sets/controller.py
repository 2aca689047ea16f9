"""Watches DaemonSets, their pods and the nodes, and keeps a pod on each node."""

from collections.abc import Iterable
from datetime import datetime

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import controller as loop_controller
from lading.loop.controller import Controller
from lading.standalone.workloads import kinds
from lading.standalone.workloads.daemon_sets import plan
from lading.standalone.workloads.daemon_sets.types import ObservedDaemonSet
from lading.standalone.workloads.kinds import DAEMON_SETS, NODES, PODS, Node, Pod
from lading.standalone.workloads.reconciler import (
    WorkloadContext,
    WorkloadReconciler,
    owner_keys,
)


class DaemonSetReconciler(WorkloadReconciler[ObservedDaemonSet]):
    name = "daemonsets"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, DAEMON_SETS, PODS)
        self._nodes = context.informers.of(NODES)

    async def observe(self, key: Key) -> ObservedDaemonSet:
        daemon_set = self.get(DAEMON_SETS, key)
        uid = daemon_set.metadata.uid if daemon_set else ""
        return ObservedDaemonSet(
            daemon_set=daemon_set,
            nodes=tuple(self._nodes),
            pods=tuple(
                pod for pod in self.cached(PODS) if uid and kinds.controller_uid(pod) == uid
            ),
        )

    def plan(self, observed: ObservedDaemonSet, now: datetime) -> Plan:
        return plan.plan(observed, now)


def open_controller(context: WorkloadContext) -> Controller:
    controller = DaemonSetReconciler(context).controller()
    daemon_sets = context.informers.of(DAEMON_SETS)

    def of_node(old: Node | None, new: Node | None) -> Iterable[Key]:
        """A heartbeat changes nothing for a DaemonSet."""
        if old is not None and new is not None and _placement(old) == _placement(new):
            return ()
        return tuple(daemon_sets.known_keys())

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        return owner_keys("DaemonSet", old, new)

    controller.watch(daemon_sets, loop_controller.own_key)
    controller.watch(context.informers.of(PODS), of_pod)
    controller.watch(context.informers.of(NODES), of_node)
    return controller


def _placement(node: Node) -> object:
    return node.metadata.labels, node.spec
