"""Which pods of a Job to start and to stop, and when the Job has ended. Pure.

The rules and sentences are those of kube-controller-manager 1.36.
"""

import hashlib
import itertools
from collections.abc import Collection
from datetime import datetime, timedelta

from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Action, Plan, earliest
from lading.standalone.workloads import kinds
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    RecordWorkloadEvent,
    RemoveFinalizer,
)
from lading.standalone.workloads.event_reasons import KubernetesEvent
from lading.standalone.workloads.jobs import counting, failures
from lading.standalone.workloads.jobs import status as job_status
from lading.standalone.workloads.jobs.counting import Count
from lading.standalone.workloads.jobs.types import FINALIZER, JobVerdict, ObservedJob
from lading.standalone.workloads.kinds import (
    JOBS,
    PODS,
    Document,
    Job,
    JobStatus,
    Pod,
)

NAME_CHARACTERS_MAX = 57


def plan(observed: ObservedJob, now: datetime) -> Plan:
    job = observed.job
    released = [_released(pod, "its Job is gone") for pod in observed.orphans]
    if job is None:
        return Plan(actions=tuple(released))
    if job.is_finished:
        tracked = [pod for pod in observed.pods if FINALIZER in pod.metadata.finalizers]
        released += [_released(pod, "its Job has ended") for pod in tracked]
        return _expired(job, released, now)
    count = counting.counted(job, observed.pods)
    verdict = _verdict(job, count, observed.pods, now)
    wanted = _wanted(job, count, verdict)
    failed = max(count.failed_in_all, sum(one.status.phase == "Failed" for one in observed.pods))
    retry_at = failures.retry_at(observed.pods, failed)
    may_start = retry_at is None or retry_at <= now
    actions: list[Action] = [*released, *_counting(job, count, observed.pods)]
    status = job_status.status_of(job, count, verdict, now)
    if len(count.active) > wanted:
        actions += _stopped(count.active[wanted:], job, verdict)
    elif len(count.active) < wanted and may_start and job.status.start_time:
        actions += _started(job, observed.pods)
    if status != job.status:
        actions += [*_ending(job, status), job_status.write(job, status)]
    deadline = _deadline(job)
    recheck_at = earliest(deadline, None if may_start else retry_at)
    return Plan(actions=tuple(actions), recheck_at=recheck_at)


def _verdict(job: Job, count: Count, pods: tuple[Pod, ...], now: datetime) -> JobVerdict | None:
    for one in job.status.conditions:
        if one.type in ("FailureTarget", "SuccessCriteriaMet") and one.status is Truth.TRUE:
            succeeded = one.type == "SuccessCriteriaMet"
            return JobVerdict(succeeded=succeeded, reason=one.reason, message=one.message)
    if job.spec.suspend:
        return None
    if count.fails_job:
        return JobVerdict(succeeded=False, reason="PodFailurePolicy", message=count.fails_job)
    if count.failed_in_all > job.spec.backoff_limit or _restarted_too_often(job, pods):
        message = "Job has reached the specified backoff limit"
        return JobVerdict(succeeded=False, reason="BackoffLimitExceeded", message=message)
    deadline = _deadline(job)
    if deadline is not None and deadline <= now:
        message = "Job was active longer than specified deadline"
        return JobVerdict(succeeded=False, reason="DeadlineExceeded", message=message)
    if _is_complete(job, count):
        message = "Reached expected number of succeeded pods"
        return JobVerdict(succeeded=True, reason="CompletionsReached", message=message)
    return None


def _is_complete(job: Job, count: Count) -> bool:
    if job.spec.completions is None:
        return count.succeeded_in_all > 0 and not count.active
    return count.succeeded_in_all >= job.spec.completions


def _restarted_too_often(job: Job, pods: tuple[Pod, ...]) -> bool:
    """Where the kubelet restarts containers in place, their restarts count."""
    if (job.spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts > 0 if job.spec.backoff_limit == 0 else restarts >= job.spec.backoff_limit


def _deadline(job: Job) -> datetime | None:
    if job.spec.active_deadline_seconds is None or not job.status.start_time or job.spec.suspend:
        return None
    start = datetime.fromisoformat(job.status.start_time)
    return start + timedelta(seconds=job.spec.active_deadline_seconds)


def _wanted(job: Job, count: Count, verdict: JobVerdict | None) -> int:
    """How many pods may be active."""
    if verdict is not None or job.spec.suspend or job.metadata.deletion_timestamp:
        return 0
    if job.spec.completions is None:
        return len(count.active) if count.succeeded_in_all else job.spec.parallelism
    return min(job.spec.parallelism, job.spec.completions - count.succeeded_in_all)


def _counting(job: Job, count: Count, pods: tuple[Pod, ...]) -> list[Action]:
    """Pods lose their finalizer once the status, as it is stored, knows them."""
    stored = job.status.uncounted_terminated_pods
    known = {*stored.succeeded, *stored.failed}
    counted = [
        pod for pod in pods if pod.metadata.uid in known and FINALIZER in pod.metadata.finalizers
    ]
    return [
        *(_released(pod, "the Job has counted it") for pod in counted),
        *(_released(pod, "the Job does not count its failure") for pod in count.ignored),
    ]


def _released(pod: Pod, because: str) -> RemoveFinalizer:
    return RemoveFinalizer(
        resource=PODS,
        key=pod.key,
        resource_version=pod.metadata.resource_version,
        finalizers=tuple(one for one in pod.metadata.finalizers if one != FINALIZER),
        because=because,
    )


def _stopped(pods: tuple[Pod, ...], job: Job, verdict: JobVerdict | None) -> list[Action]:
    because = verdict.message if verdict else "the Job is suspended or wants fewer pods"
    actions: list[Action] = []
    for pod in pods:
        actions.append(Delete(resource=PODS, key=pod.key, uid=pod.metadata.uid, because=because))
        actions.append(
            _record(job, KubernetesEvent.SUCCESSFUL_DELETE, f"Deleted pod: {pod.metadata.name}")
        )
    return actions


def _started(job: Job, pods: tuple[Pod, ...]) -> list[Action]:
    """One at a time: the features run Jobs of one pod."""
    body = _pod(job, _free_name(job, {pod.metadata.name for pod in pods}))
    name = body["metadata"]["name"]
    return [
        Create(resource=PODS, body=body, because="the Job has too few active pods"),
        _record(job, KubernetesEvent.SUCCESSFUL_CREATE, f"Created pod: {name}"),
    ]


def _free_name(job: Job, taken: Collection[str]) -> str:
    """The first of a fixed row of names that no pod has, so that no pod is made twice."""
    for attempt in itertools.count():
        fact = f"{job.metadata.uid} {attempt}"
        suffix = hashlib.sha256(fact.encode()).hexdigest()[:5]
        name = f"{job.metadata.name[:NAME_CHARACTERS_MAX]}-{suffix}"
        if name not in taken:
            return name
    raise AssertionError("the row of names has no end")


def _pod(job: Job, name: str) -> Document:
    metadata = job.spec.template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **kept,
            "name": name,
            "namespace": job.metadata.namespace,
            "finalizers": [FINALIZER],
            "ownerReferences": [kinds.owner_reference(JOBS, job)],
        },
        "spec": job.spec.template.get("spec") or {},
    }


def _ending(job: Job, status: JobStatus) -> list[Action]:
    known = {one.type for one in job.status.conditions if one.status is Truth.TRUE}
    for one in status.conditions:
        if one.type not in known and one.status is Truth.TRUE:
            match one.type:
                case "Complete":
                    return [_record(job, KubernetesEvent.COMPLETED, "Job completed")]
                case "Failed":
                    return [_record(job, KubernetesEvent(one.reason), one.message, warning=True)]
                case "Suspended":
                    return [_record(job, KubernetesEvent.SUSPENDED, "Job suspended")]
    return []


def _record(
    job: Job, reason: KubernetesEvent, note: str, *, warning: bool = False
) -> RecordWorkloadEvent:
    return RecordWorkloadEvent(
        resource=JOBS, about=job, reason=reason, because=note, warning=warning
    )


def _expired(job: Job, actions: list[RemoveFinalizer], now: datetime) -> Plan:
    """A finished Job goes when its time to live is over."""
    if job.spec.ttl_seconds_after_finished is None or job.metadata.deletion_timestamp:
        return Plan(actions=tuple(actions))
    ended = next(
        one.last_transition_time
        for one in job.status.conditions
        if one.type in ("Complete", "Failed") and one.status is Truth.TRUE
    )
    expiry = datetime.fromisoformat(ended or conditions.timestamp(now)) + timedelta(
        seconds=job.spec.ttl_seconds_after_finished
    )
    if expiry > now:
        return Plan(actions=tuple(actions), recheck_at=expiry)
    delete = Delete(
        resource=JOBS,
        key=job.key,
        uid=job.metadata.uid,
        because="its ttlSecondsAfterFinished is over",
        propagation="Foreground",
    )
    return Plan(actions=(*actions, delete))
