"""Watches pods that have no node, and the nodes, and binds the pods."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.ports.kube import PatchType
from lading.standalone.workloads.kinds import NODES, PODS, Node, Pod
from lading.standalone.workloads.reconciler import WorkloadContext, WorkloadReconciler
from lading.standalone.workloads.scheduler import plan
from lading.standalone.workloads.scheduler.plan import Bind, ObservedScheduling, WriteCondition


class SchedulerReconciler(WorkloadReconciler[ObservedScheduling]):
    name = "scheduler"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, PODS)
        self._nodes = context.informers.of(NODES)

    async def observe(self, key: Key) -> ObservedScheduling:
        pod = self.get(PODS, key)
        live = (one for one in self.cached(PODS) if not one.is_finished)
        return ObservedScheduling(
            pod=pod,
            nodes=tuple(self._nodes),
            pods_by_node=Counter(one.spec.node_name for one in live),
        )

    def plan(self, observed: ObservedScheduling, now: datetime) -> Plan:
        return plan.plan(observed, now)

    async def apply(self, action: Any) -> None:
        match action:
            case Bind():
                metadata = {"resourceVersion": action.resource_version}
                await self._patch(
                    action.key, {"metadata": metadata, "spec": {"nodeName": action.node}}, ""
                )
            case WriteCondition():
                await self._patch(
                    action.key, {"status": {"conditions": [action.condition]}}, "status"
                )
            case _:
                await super().apply(action)

    async def _patch(self, key: Key, body: dict[str, Any], subresource: str) -> None:
        with pipeline.precondition(f"Pod {key}"):
            written = await self._context.kube.patch(
                PODS,
                key.name,
                body,
                namespace=key.namespace,
                patch_type=PatchType.STRATEGIC,
                subresource=subresource,
            )
        self._caches[PODS].add(written)


def open_controller(context: WorkloadContext) -> Controller:
    controller = SchedulerReconciler(context).controller()
    pods = context.informers.of(PODS)

    nodes = context.informers.of(NODES)

    def is_due(pod: Pod) -> bool:
        """It waits for a node, or its node is gone."""
        where = pod.spec.node_name
        return _waits(pod) or bool(where and nodes.get(Key("", where)) is None)

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        return () if new is None or not is_due(new) else (new.key,)

    def of_node(old: Node | None, new: Node | None) -> Iterable[Key]:
        return [pod.key for pod in pods if is_due(pod)]

    controller.watch(pods, of_pod)
    controller.watch(nodes, of_node)
    return controller


def _waits(pod: Pod) -> bool:
    """For a node, or for the condition that says that it has one."""
    is_scheduled = any(
        one.type == "PodScheduled" and one.status == "True" for one in pod.status.conditions
    )
    return not is_scheduled and not pod.spec.scheduling_gates
