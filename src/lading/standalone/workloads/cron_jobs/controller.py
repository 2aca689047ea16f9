"""Watches CronJobs and their Jobs, and makes a Job when one is due."""

from collections.abc import Iterable
from datetime import datetime

from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import controller as loop_controller
from lading.loop.controller import Controller
from lading.standalone.workloads import kinds
from lading.standalone.workloads.cron_jobs import plan
from lading.standalone.workloads.cron_jobs.plan import ObservedCronJob
from lading.standalone.workloads.kinds import CRON_JOBS, JOBS, Job
from lading.standalone.workloads.reconciler import (
    WorkloadContext,
    WorkloadReconciler,
    owner_keys,
)


class CronJobReconciler(WorkloadReconciler[ObservedCronJob]):
    name = "cronjobs"

    def __init__(self, context: WorkloadContext) -> None:
        super().__init__(context, CRON_JOBS, JOBS)

    async def observe(self, key: Key) -> ObservedCronJob:
        cron_job = self.get(CRON_JOBS, key)
        uid = cron_job.metadata.uid if cron_job else ""
        return ObservedCronJob(
            cron_job=cron_job,
            jobs=tuple(
                job for job in self.cached(JOBS) if uid and kinds.controller_uid(job) == uid
            ),
        )

    def plan(self, observed: ObservedCronJob, now: datetime) -> Plan:
        return plan.plan(observed, now)


def open_controller(context: WorkloadContext) -> Controller:
    controller = CronJobReconciler(context).controller()

    def of_job(old: Job | None, new: Job | None) -> Iterable[Key]:
        return owner_keys("CronJob", old, new)

    controller.watch(context.informers.of(CRON_JOBS), loop_controller.own_key)
    controller.watch(context.informers.of(JOBS), of_job)
    return controller
