"""batch: CronJobs and Jobs, cut down to the fields that Lading reads."""

from typing import Any

from lading.kernel.conditions import Truth
from lading.kernel.objects import Model, Object, Resource


class CronJobStatus(Model, frozen=True, kw_only=True):
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Object, frozen=True, kw_only=True):
    spec: dict[str, Any] = {}
    status: CronJobStatus = CronJobStatus()


class JobCondition(Model, frozen=True, kw_only=True):
    type: str
    status: Truth
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class JobStatus(Model, frozen=True, kw_only=True):
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[JobCondition, ...] = ()


class Job(Object, frozen=True, kw_only=True):
    status: JobStatus = JobStatus()

    @property
    def completion(self) -> JobCondition | None:
        return self._holds("Complete")

    @property
    def failure(self) -> JobCondition | None:
        return self._holds("Failed")

    def _holds(self, type_: str) -> JobCondition | None:
        return next(
            (
                one
                for one in self.status.conditions
                if one.type == type_ and one.status is Truth.TRUE
            ),
            None,
        )


CRON_JOBS: Resource[CronJob] = Resource(
    group="batch", version="v1", kind="CronJob", plural="cronjobs", namespaced=True, type=CronJob
)
JOBS: Resource[Job] = Resource(
    group="batch", version="v1", kind="Job", plural="jobs", namespaced=True, type=Job
)
