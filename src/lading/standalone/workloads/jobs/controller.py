"""Watches Jobs and their pods, and runs each Job to its end."""

from collections.abc import Iterable
from datetime import datetime

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import controller as loop_controller
from lading.loop.controller import Controller
from lading.standalone.workloads import kinds
from lading.standalone.workloads.jobs import plan
from lading.standalone.workloads.jobs.types import FINALIZER, ObservedJob
from lading.standalone.workloads.kinds import JOBS, PODS, Pod
from lading.standalone.workloads.reconciler import (
    WorkloadContext,
    WorkloadReconciler,
    owner_keys,
)


class JobReconciler(WorkloadReconciler[ObservedJob]):
    name = "jobs"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, JOBS, PODS)

    async def observe(self, key: Key) -> ObservedJob:
        job = self.get(JOBS, key)
        uid = job.metadata.uid if job else ""
        named = [pod for pod in self.cached(PODS) if key in owner_keys("Job", pod)]
        return ObservedJob(
            job=job,
            pods=tuple(pod for pod in named if kinds.controller_uid(pod) == uid),
            orphans=tuple(
                pod
                for pod in named
                if kinds.controller_uid(pod) != uid and FINALIZER in pod.metadata.finalizers
            ),
        )

    def plan(self, observed: ObservedJob, now: datetime) -> Plan:
        return plan.plan(observed, now)


def open_controller(context: WorkloadContext) -> Controller:
    controller = JobReconciler(context).controller()

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        return owner_keys("Job", old, new)

    controller.watch(context.informers.of(JOBS), loop_controller.own_key)
    controller.watch(context.informers.of(PODS), of_pod)
    return controller
