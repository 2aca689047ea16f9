"""When a CronJob makes its next Job, which Jobs it forgets, and its status. Pure.

The rules, reasons and sentences are those of kube-controller-manager 1.36.
"""

import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from lading.kernel import conditions, cron
from lading.kernel.cron import Schedule
from lading.kernel.errors import Malformed
from lading.kernel.planning import Action, Plan
from lading.standalone.workloads import kinds
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RecordWorkloadEvent,
    WriteWorkloadStatus,
)
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.kinds import (
    CRON_JOBS,
    JOBS,
    CronJob,
    CronJobStatus,
    Document,
    Job,
    JobReference,
)

MISSED_MAX = 100
"""More missed times than these are reported: the clock may be wrong."""
_START = "start"
"""A time counts as served only when its Job is there."""
SCHEDULED_ANNOTATION = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class ObservedCronJob(msgspec.Struct, frozen=True, kw_only=True):
    cron_job: CronJob | None
    jobs: tuple[Job, ...]
    """Those that the CronJob controls."""


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is due now."""

    actions: tuple[Action, ...] = ()
    due: datetime | None = None
    """The time for which a Job is made."""
    replaced: frozenset[str] = frozenset()
    """UIDs of Jobs that make room."""
    next_at: datetime | None = None


def plan(observed: ObservedCronJob, now: datetime) -> Plan:
    cron_job = observed.cron_job
    if cron_job is None or cron_job.metadata.deletion_timestamp:
        return Plan()
    start = _start(cron_job, observed.jobs, now)
    actions = [
        *_noticed(cron_job, observed.jobs),
        *start.actions,
        *_forgotten(cron_job, observed.jobs),
    ]
    status = _status(cron_job, observed.jobs, start)
    if status != cron_job.status:
        actions.append(_write(cron_job, status))
    return Plan(actions=tuple(actions), recheck_at=start.next_at)


def _start(cron_job: CronJob, jobs: tuple[Job, ...], now: datetime) -> _Start:
    if cron_job.spec.suspend:
        return _Start()
    try:
        zone = _zone(cron_job)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        note = f"invalid timeZone: {cron_job.spec.time_zone!r}: unknown time zone"
        return _Start(
            actions=(_record(cron_job, KubernetesEvent.UNKNOWN_TIME_ZONE, note, warning=True),)
        )
    try:
        schedule = cron.parse(cron_job.spec.schedule)
    except Malformed as error:
        note = f"unparseable schedule: {cron_job.spec.schedule!r} : {error.reason}"
        return _Start(
            actions=(_record(cron_job, KubernetesEvent.UNPARSEABLE_SCHEDULE, note, warning=True),)
        )
    next_at = schedule.next(now, zone)
    due, missed = most_recent(cron_job, schedule, zone, now)
    if due is None:
        return _Start(next_at=next_at)
    started = _start_for(cron_job, jobs, due, zone, now)
    warned = _too_many(cron_job) if missed > MISSED_MAX and started.due else ()
    return _Start(
        actions=(*warned, *started.actions),
        due=started.due,
        replaced=started.replaced,
        next_at=next_at,
    )


def _zone(cron_job: CronJob) -> tzinfo:
    name = cron_job.spec.time_zone
    return UTC if name in (None, "UTC", "Etc/UTC") else zoneinfo.ZoneInfo(name or "")


def most_recent(
    cron_job: CronJob, schedule: Schedule, zone: tzinfo, now: datetime
) -> tuple[datetime | None, int]:
    """The last time that was due and has not been served, and about how many there were."""
    since = datetime.fromisoformat(
        cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    )
    if cron_job.spec.starting_deadline_seconds is not None:
        since = max(since, now - timedelta(seconds=cron_job.spec.starting_deadline_seconds))
    first = schedule.next(since, zone)
    if first is None or first > now:
        return None, 0
    second = schedule.next(first, zone)
    if second is None or second > now:
        return first, 1
    missed = int((now - first) / (second - first)) + 1
    at: datetime | None = first + (missed - 2) * (second - first) if missed > 2 else first
    last = first
    while at is not None and at <= now:
        last = at
        at = schedule.next(at, zone)
    return last, missed


def _start_for(
    cron_job: CronJob, jobs: tuple[Job, ...], due: datetime, zone: tzinfo, now: datetime
) -> _Start:
    deadline = cron_job.spec.starting_deadline_seconds
    if deadline is not None and due + timedelta(seconds=deadline) < now:
        note = f"Missed scheduled time to start a job: {conditions.timestamp(due)}"
        return _Start(
            actions=(_record(cron_job, KubernetesEvent.MISS_SCHEDULE, note, warning=True),)
        )
    name = job_name(cron_job, due)
    if any(job.metadata.name == name for job in jobs):
        return _Start(due=due)
    active = [job for job in jobs if not job.is_finished]
    if active and cron_job.spec.concurrency_policy == "Forbid":
        note = (
            "Not starting job because prior execution is running and concurrency policy is Forbid"
        )
        return _Start(actions=(_record(cron_job, KubernetesEvent.JOB_ALREADY_ACTIVE, note),))
    replaced = active if cron_job.spec.concurrency_policy == "Replace" else []
    body = _job(cron_job, name, due, zone)
    return _Start(
        actions=(
            *(_deleted(job, "a new Job replaces it") for job in replaced),
            Create(
                resource=JOBS,
                body=body,
                because=f"due at {conditions.timestamp(due)}",
                order=_START,
            ),
            _record(cron_job, KubernetesEvent.SUCCESSFUL_CREATE, f"Created job {name}"),
        ),
        due=due,
        replaced=frozenset(job.metadata.uid for job in replaced),
    )


def job_name(cron_job: CronJob, due: datetime) -> str:
    """The same for the same time, so that no Job is made twice."""
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


def _forgotten(cron_job: CronJob, jobs: Iterable[Job]) -> list[Action]:
    """Finished Jobs beyond the history limits, the oldest first."""
    spec = cron_job.spec
    ordered = sorted(jobs, key=lambda job: (job.status.start_time or "", job.metadata.name))
    kept = [job for job in ordered if not job.metadata.deletion_timestamp]
    succeeded = [job for job in kept if job.has("Complete")]
    failed = [job for job in kept if job.has("Failed")]
    return [
        *(
            _deleted(job, "beyond the successfulJobsHistoryLimit")
            for job in succeeded[: max(len(succeeded) - spec.successful_jobs_history_limit, 0)]
        ),
        *(
            _deleted(job, "beyond the failedJobsHistoryLimit")
            for job in failed[: max(len(failed) - spec.failed_jobs_history_limit, 0)]
        ),
    ]


def _deleted(job: Job, because: str) -> Delete:
    return Delete(resource=JOBS, key=job.key, uid=job.metadata.uid, because=because)


def _noticed(cron_job: CronJob, jobs: Iterable[Job]) -> list[Action]:
    """Active Jobs that ended or went away since the last time."""
    by_uid = {job.metadata.uid: job for job in jobs}
    actions: list[Action] = []
    for one in cron_job.status.active:
        job = by_uid.get(one.uid)
        if job is None:
            note = f"Active job went missing: {one.name}"
            actions.append(_record(cron_job, KubernetesEvent.MISSING_JOB, note))
        elif job.is_finished:
            kind = "Complete" if job.has("Complete") else "Failed"
            note = f"Saw completed job: {one.name}, condition: {kind}"
            actions.append(_record(cron_job, KubernetesEvent.SAW_COMPLETED_JOB, note))
    return actions


def _status(cron_job: CronJob, jobs: tuple[Job, ...], start: _Start) -> CronJobStatus:
    """A Job that was just made is among the active ones as soon as the cache shows it."""
    active = (
        job
        for job in sorted(jobs, key=lambda job: job.metadata.name)
        if not job.is_finished and job.metadata.uid not in start.replaced
    )
    ends = [job.status.completion_time for job in jobs if job.has("Complete")]
    successes = [*(end for end in ends if end), cron_job.status.last_successful_time or ""]
    due = conditions.timestamp(start.due) if start.due else None
    return CronJobStatus(
        active=tuple(_reference(job) for job in active),
        last_schedule_time=due or cron_job.status.last_schedule_time,
        last_successful_time=max(successes) or None,
    )


def _reference(job: Job) -> JobReference:
    return JobReference(
        api_version=JOBS.api_version,
        kind=JOBS.kind,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
    )


def _write(cron_job: CronJob, status: CronJobStatus) -> WriteWorkloadStatus:
    return WriteWorkloadStatus(
        resource=CRON_JOBS,
        key=cron_job.key,
        resource_version=cron_job.metadata.resource_version,
        status={
            "active": [msgspec.to_builtins(one) for one in status.active] or None,
            "lastScheduleTime": status.last_schedule_time,
            "lastSuccessfulTime": status.last_successful_time,
        },
        because="the Jobs of the CronJob changed",
        order=_START,
    )


def _too_many(cron_job: CronJob) -> tuple[Action, ...]:
    note = (
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check"
        " clock skew"
    )
    return (_record(cron_job, KubernetesEvent.TOO_MANY_MISSED_TIMES, note, warning=True),)


def _record(
    cron_job: CronJob, reason: KubernetesEvent, note: str, *, warning: bool = False
) -> RecordWorkloadEvent:
    return RecordWorkloadEvent(
        resource=CRON_JOBS, about=cron_job, reason=reason, because=note, warning=warning
    )
