"""The controllers of DaemonSets, Jobs and CronJobs, and the scheduler: what each one watches."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

from lading.embedded.workloads import cron_jobs, daemon_sets, jobs, scheduler
from lading.embedded.workloads.cron_jobs import ObservedCronJob
from lading.embedded.workloads.daemon_sets import ObservedDaemonSet
from lading.embedded.workloads.jobs import ObservedJob
from lading.embedded.workloads.kinds import (
    CRON_JOBS,
    DAEMON_SETS,
    JOBS,
    NODES,
    PODS,
    Node,
    Pod,
)
from lading.embedded.workloads.reconciler import (
    WorkloadContext,
    WorkloadReconciler,
    owner_keys,
)
from lading.embedded.workloads.scheduler import ObservedScheduling
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import controller as loop_controller
from lading.loop.controller import Controller

ClusterController = Callable[[WorkloadContext], Controller]


class DaemonSetReconciler(WorkloadReconciler[ObservedDaemonSet]):
    name = "daemonsets"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, DAEMON_SETS, PODS)
        self._nodes = context.informers.of(NODES)

    async def observe(self, key: Key) -> ObservedDaemonSet:
        daemon_set = self.get(DAEMON_SETS, key)
        pods = self.controlled(PODS, daemon_set)
        return ObservedDaemonSet(daemon_set=daemon_set, nodes=tuple(self._nodes), pods=pods)

    def plan(self, observed: ObservedDaemonSet, now: datetime) -> Plan:
        return daemon_sets.plan(observed, now)


class JobReconciler(WorkloadReconciler[ObservedJob]):
    name = "jobs"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, JOBS, PODS)

    async def observe(self, key: Key) -> ObservedJob:
        job = self.get(JOBS, key)
        return ObservedJob(job=job, pods=self.controlled(PODS, job))

    def plan(self, observed: ObservedJob, now: datetime) -> Plan:
        return jobs.plan(observed, now)


class CronJobReconciler(WorkloadReconciler[ObservedCronJob]):
    name = "cronjobs"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, CRON_JOBS, JOBS)

    async def observe(self, key: Key) -> ObservedCronJob:
        cron_job = self.get(CRON_JOBS, key)
        return ObservedCronJob(cron_job=cron_job, jobs=self.controlled(JOBS, cron_job))

    def plan(self, observed: ObservedCronJob, now: datetime) -> Plan:
        return cron_jobs.plan(observed, now)


class SchedulerReconciler(WorkloadReconciler[ObservedScheduling]):
    name = "scheduler"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, PODS)
        self._nodes = context.informers.of(NODES)

    async def observe(self, key: Key) -> ObservedScheduling:
        live = (one for one in self.cached(PODS) if not one.is_finished)
        return ObservedScheduling(
            pod=self.get(PODS, key),
            nodes=tuple(self._nodes),
            pods_by_node=Counter(one.spec.node_name for one in live),
        )

    def plan(self, observed: ObservedScheduling, now: datetime) -> Plan:
        return scheduler.plan(observed, now)


def _open_daemon_sets(context: WorkloadContext) -> Controller:
    controller = DaemonSetReconciler(context).controller()
    informer = context.informers.of(DAEMON_SETS)

    def of_node(old: Node | None, new: Node | None) -> Iterable[Key]:
        """A heartbeat concerns no DaemonSet."""
        if old and new and (old.metadata.labels, old.spec) == (new.metadata.labels, new.spec):
            return ()
        return tuple(informer.known_keys())

    controller.watch(informer, loop_controller.own_key)
    controller.watch(context.informers.of(PODS), owner_keys("DaemonSet"))
    controller.watch(context.informers.of(NODES), of_node)
    return controller


def _open_jobs(context: WorkloadContext) -> Controller:
    controller = JobReconciler(context).controller()
    controller.watch(context.informers.of(JOBS), loop_controller.own_key)
    controller.watch(context.informers.of(PODS), owner_keys("Job"))
    return controller


def _open_cron_jobs(context: WorkloadContext) -> Controller:
    controller = CronJobReconciler(context).controller()
    controller.watch(context.informers.of(CRON_JOBS), loop_controller.own_key)
    controller.watch(context.informers.of(JOBS), owner_keys("CronJob"))
    return controller


def _open_scheduler(context: WorkloadContext) -> Controller:
    controller = SchedulerReconciler(context).controller()
    pods, nodes = context.informers.of(PODS), context.informers.of(NODES)

    def is_due(pod: Pod) -> bool:
        """The pod waits for a node or for its condition, or its node does not exist."""
        if not pod.spec.scheduling_gates and not scheduler.is_scheduled(pod):
            return True
        return bool(pod.spec.node_name) and nodes.get(Key("", pod.spec.node_name)) is None

    def of_pod(old: Pod | None, new: Pod | None) -> Iterable[Key]:
        return (new.key,) if new is not None and is_due(new) else ()

    def of_node(old: Node | None, new: Node | None) -> Iterable[Key]:
        return [pod.key for pod in pods if is_due(pod)]

    controller.watch(pods, of_pod)
    controller.watch(nodes, of_node)
    return controller


CLUSTER_CONTROLLERS: tuple[ClusterController, ...] = (
    _open_daemon_sets,
    _open_jobs,
    _open_cron_jobs,
    _open_scheduler,
)
