"""The status of a Job as kube-controller-manager 1.36 writes it. Pure."""

from datetime import datetime

import msgspec

from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.standalone.workloads import pod_readiness
from lading.standalone.workloads.actions import WriteWorkloadStatus
from lading.standalone.workloads.jobs.counting import Count
from lading.standalone.workloads.jobs.types import JobVerdict
from lading.standalone.workloads.kinds import JOBS, Condition, Document, Job, JobStatus


def status_of(job: Job, count: Count, verdict: JobVerdict | None, now: datetime) -> JobStatus:
    found = _with_suspension(job, job.status.conditions, now)
    is_final = verdict is not None and count.is_settled
    if verdict is not None:
        found = _with_verdict(found, verdict, is_final=is_final, now=now)
    start = None if job.spec.suspend else job.status.start_time or conditions.timestamp(now)
    done = verdict is not None and verdict.succeeded and is_final
    return JobStatus(
        conditions=found,
        start_time=start,
        completion_time=conditions.timestamp(now) if done else job.status.completion_time,
        active=len(count.active),
        ready=sum(pod_readiness.is_ready(pod) for pod in count.active),
        terminating=count.terminating,
        succeeded=count.succeeded,
        failed=count.failed,
        uncounted_terminated_pods=count.uncounted,
    )


def _with_suspension(
    job: Job, found: tuple[Condition, ...], now: datetime
) -> tuple[Condition, ...]:
    if job.spec.suspend:
        return _with(found, "Suspended", Truth.TRUE, "JobSuspended", "Job suspended", now)
    if job.has("Suspended"):
        return _with(found, "Suspended", Truth.FALSE, "JobResumed", "Job resumed", now)
    return found


def _with_verdict(
    found: tuple[Condition, ...], verdict: JobVerdict, *, is_final: bool, now: datetime
) -> tuple[Condition, ...]:
    first, last = (
        ("SuccessCriteriaMet", "Complete") if verdict.succeeded else ("FailureTarget", "Failed")
    )
    for type_ in (first, last) if is_final else (first,):
        found = _with(found, type_, Truth.TRUE, verdict.reason, verdict.message, now)
    return found


def _with(
    found: tuple[Condition, ...],
    type_: str,
    status: Truth,
    reason: str,
    message: str,
    now: datetime,
) -> tuple[Condition, ...]:
    if any(one.type == type_ and one.status is status for one in found):
        return found
    new = Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=conditions.timestamp(now),
    )
    return (*(one for one in found if one.type != type_), new)


def write(job: Job, status: JobStatus) -> WriteWorkloadStatus:
    """Counters that are 0 are absent, as kube-controller-manager leaves them out."""
    uncounted = status.uncounted_terminated_pods
    body = {
        "conditions": [_condition_body(one) for one in status.conditions] or None,
        "startTime": status.start_time,
        "completionTime": status.completion_time,
        "active": status.active or None,
        "ready": status.ready,
        "terminating": status.terminating,
        "succeeded": status.succeeded or None,
        "failed": status.failed or None,
        "uncountedTerminatedPods": {
            "succeeded": list(uncounted.succeeded) or None,
            "failed": list(uncounted.failed) or None,
        },
    }
    return WriteWorkloadStatus(
        resource=JOBS,
        key=job.key,
        resource_version=job.metadata.resource_version,
        status=body,
        because="the pods of the Job changed",
    )


def _condition_body(condition: Condition) -> Document:
    body: Document = msgspec.to_builtins(condition)
    return {**body, "lastProbeTime": condition.last_transition_time}
