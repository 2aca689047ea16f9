"""When a CronJob creates its next Job, which old Jobs it deletes, and its status. Pure."""

import zoneinfo
from collections.abc import Iterable
from datetime import datetime, timedelta, tzinfo

import msgspec

from lading.api.core import ObjectReference
from lading.embedded.workloads import actions, kinds
from lading.embedded.workloads.actions import Create, Delete, KubernetesEvent, Patch
from lading.embedded.workloads.kinds import (
    CRON_JOBS,
    JOBS,
    CronJob,
    CronJobStatus,
    Document,
    Job,
)
from lading.kernel import conditions, cron
from lading.kernel.cron import Schedule
from lading.kernel.errors import Malformed
from lading.kernel.planning import Action, Plan, RecordEvent

SCHEDULED_ANNOTATION = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class ObservedCronJob(msgspec.Struct, frozen=True, kw_only=True):
    cron_job: CronJob | None
    jobs: tuple[Job, ...]
    """The Jobs that the CronJob controls."""


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    served: datetime | None = None
    """The due time that has its Job now."""
    create: Create | None = None
    next_at: datetime | None = None


def plan(observed: ObservedCronJob, now: datetime) -> Plan:
    cron_job = observed.cron_job
    if cron_job is None or cron_job.metadata.deletion_timestamp:
        return Plan()
    found: list[Action] = [*_expired(cron_job, observed.jobs)]
    start = _Start()
    try:
        zone = zoneinfo.ZoneInfo(cron_job.spec.time_zone or "UTC")
        schedule = cron.parse(cron_job.spec.schedule)
    except (Malformed, zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        note = f"unparseable schedule: {cron_job.spec.schedule!r} : {error}"
        found.append(
            RecordEvent(reason=KubernetesEvent.UNPARSEABLE_SCHEDULE, because=note, warning=True)
        )
    else:
        if not cron_job.spec.suspend:
            start = _start(cron_job, observed.jobs, schedule, zone, now)
    if start.create:
        found.append(start.create)
    status = _status(cron_job, observed.jobs, start.served)
    if status != cron_job.status:
        found.append(_write(cron_job, status, after=start.create))
    return Plan(actions=tuple(found), recheck_at=start.next_at)


def _start(
    cron_job: CronJob, jobs: tuple[Job, ...], schedule: Schedule, zone: tzinfo, now: datetime
) -> _Start:
    next_at = schedule.next(now, zone)
    due = _most_recent(cron_job, schedule, zone, now)
    if due is None:
        return _Start(next_at=next_at)
    name = job_name(cron_job, due)
    if any(job.metadata.name == name for job in jobs):
        return _Start(served=due, next_at=next_at)
    if cron_job.spec.concurrency_policy != "Allow" and not all(one.is_finished for one in jobs):
        return _Start(next_at=next_at)
    because = f"due at {conditions.timestamp(due)}"
    create = Create(resource=JOBS, body=_job(cron_job, name, due, zone), because=because)
    return _Start(served=due, create=create, next_at=next_at)


def _most_recent(
    cron_job: CronJob, schedule: Schedule, zone: tzinfo, now: datetime
) -> datetime | None:
    """The last due time since the last Job that is not older than the starting deadline."""
    since = datetime.fromisoformat(
        cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    )
    if cron_job.spec.starting_deadline_seconds is not None:
        since = max(since, now - timedelta(seconds=cron_job.spec.starting_deadline_seconds))
    first = schedule.next(since, zone)
    if first is None or first > now:
        return None
    second = schedule.next(first, zone)
    if second is None or second > now:
        return first
    # After a long pause there may be millions of due times: start near the last one.
    skipped = max(int((now - first) / (second - first)) - 1, 0)
    last = first + skipped * (second - first)
    while (following := schedule.next(last, zone)) is not None and following <= now:
        last = following
    return last


def job_name(cron_job: CronJob, due: datetime) -> str:
    """Deterministic, so that no Job is created twice."""
    return f"{cron_job.metadata.name}-{int(due.timestamp()) // 60}"


def _job(cron_job: CronJob, name: str, due: datetime, zone: tzinfo) -> Document:
    template = cron_job.spec.job_template
    metadata = template.get("metadata") or {}
    scheduled = due.astimezone(zone).isoformat().replace("+00:00", "Z")
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            **({"labels": metadata["labels"]} if metadata.get("labels") else {}),
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED_ANNOTATION: scheduled},
            "name": name,
            "namespace": cron_job.metadata.namespace,
            "ownerReferences": [kinds.owner_reference(CRON_JOBS, cron_job)],
        },
        "spec": template.get("spec") or {},
    }


def _expired(cron_job: CronJob, jobs: Iterable[Job]) -> Iterable[Delete]:
    """The oldest finished Jobs beyond the history limits."""
    newest_first = sorted(
        (job for job in jobs if not job.metadata.deletion_timestamp),
        key=lambda job: (job.status.start_time or "", job.metadata.name),
        reverse=True,
    )
    limits = {
        "Complete": cron_job.spec.successful_jobs_history_limit,
        "Failed": cron_job.spec.failed_jobs_history_limit,
    }
    for condition, limit in limits.items():
        for job in [job for job in newest_first if job.has(condition)][limit:]:
            because = "the CronJob keeps fewer finished Jobs"
            yield Delete(resource=JOBS, key=job.key, uid=job.metadata.uid, because=because)


def _status(cron_job: CronJob, jobs: tuple[Job, ...], served: datetime | None) -> CronJobStatus:
    """A new Job is among the active ones as soon as the cache shows it."""
    running = sorted((job for job in jobs if not job.is_finished), key=lambda job: job.key)
    ends = [job.status.completion_time for job in jobs if job.has("Complete")]
    successes = [*(end for end in ends if end), cron_job.status.last_successful_time or ""]
    return CronJobStatus(
        active=tuple(
            ObjectReference(
                api_version=JOBS.api_version,
                kind=JOBS.kind,
                namespace=job.metadata.namespace,
                name=job.metadata.name,
                uid=job.metadata.uid,
            )
            for job in running
        ),
        last_schedule_time=conditions.timestamp(served)
        if served
        else cron_job.status.last_schedule_time,
        last_successful_time=max(successes) or None,
    )


def _write(cron_job: CronJob, status: CronJobStatus, *, after: Create | None) -> Patch:
    """In the lane of the new Job: if the Job cannot be created, its time is not served."""
    body = {
        "active": [msgspec.to_builtins(one) for one in status.active] or None,
        "lastScheduleTime": status.last_schedule_time,
        "lastSuccessfulTime": status.last_successful_time,
    }
    because = "the Jobs of the CronJob changed"
    lane = after.lane if after else "status"
    return actions.write_status(CRON_JOBS, cron_job, body, because=because, lane=lane)
