"""The pods of a Job, how it counts them, and when it has ended. Pure.

A pod carries a finalizer until it is counted: first its UID is written into the status, then the
finalizer goes, then the counter takes the UID's place. Cut off anywhere, no pod is lost or counted
twice. The rules and sentences are those of kube-controller-manager 1.36.
"""

import hashlib
import itertools
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.planning import Action, Plan, earliest
from lading.standalone.workloads import kinds, pod_readiness
from lading.standalone.workloads.actions import (
    Create,
    Delete,
    Record,
    RemoveFinalizer,
    WriteStatus,
)
from lading.standalone.workloads.jobs import failures
from lading.standalone.workloads.jobs.types import FINALIZER, Observed, Verdict
from lading.standalone.workloads.kinds import (
    JOBS,
    PODS,
    Condition,
    Document,
    Job,
    JobStatus,
    Pod,
    Uncounted,
)

NAME_CHARACTERS_MAX = 57


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """The pods of a Job, sorted into what they mean for it."""

    active: tuple[Pod, ...]
    terminating: int
    ignored: tuple[Pod, ...]
    """Failed pods that the policy does not count."""
    uncounted: Uncounted
    succeeded: int
    failed: int
    """As the status counts them, without the uncounted ones."""
    fails_job: str

    @property
    def succeeded_in_all(self) -> int:
        return self.succeeded + len(self.uncounted.succeeded)

    @property
    def failed_in_all(self) -> int:
        return self.failed + len(self.uncounted.failed)

    @property
    def is_settled(self) -> bool:
        """Every pod has ended and is counted."""
        open_ = self.active or self.terminating
        return not open_ and self.uncounted == Uncounted()


def plan(observed: Observed, now: datetime) -> Plan:
    job = observed.job
    released = [_released(pod, "its Job is gone") for pod in observed.orphans]
    if job is None:
        return Plan(actions=tuple(released))
    if job.is_finished:
        tracked = [pod for pod in observed.pods if FINALIZER in pod.metadata.finalizers]
        released += [_released(pod, "its Job has ended") for pod in tracked]
        return _expired(job, released, now)
    count = _counted(job, observed.pods)
    verdict = _verdict(job, count, observed.pods, now)
    wanted = _wanted(job, count, verdict)
    failed = max(count.failed_in_all, sum(one.status.phase == "Failed" for one in observed.pods))
    retry_at = failures.retry_at(observed.pods, failed)
    may_start = retry_at is None or retry_at <= now
    actions: list[Action] = [*released, *_counting(job, count, observed.pods)]
    status = _status(job, count, verdict, now)
    if len(count.active) > wanted:
        actions += _stopped(count.active[wanted:], job, verdict)
    elif len(count.active) < wanted and may_start and job.status.start_time:
        actions += _started(job, observed.pods)
    if status != job.status:
        actions += [*_ending(job, status), _write(job, status)]
    deadline = _deadline(job)
    recheck_at = earliest(deadline, None if may_start else retry_at)
    return Plan(actions=tuple(actions), recheck_at=recheck_at)


def _counted(job: Job, pods: tuple[Pod, ...]) -> _Count:
    before = job.status.uncounted_terminated_pods
    tracked = {pod.metadata.uid: pod for pod in pods if FINALIZER in pod.metadata.finalizers}
    judged = {
        uid: failures.judge(job.spec.pod_failure_policy, pod)
        for uid, pod in tracked.items()
        if _has_failed(job, pod)
    }
    done = {uid for uid, pod in tracked.items() if pod.status.phase == "Succeeded"}
    failed = {uid for uid, one in judged.items() if one.counts}
    live = [pod for uid, pod in tracked.items() if uid not in done and uid not in judged]
    return _Count(
        active=tuple(
            sorted(
                (pod for pod in live if not pod.metadata.deletion_timestamp),
                key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name),
            )
        ),
        terminating=sum(
            bool(pod.metadata.deletion_timestamp) and not pod.is_finished
            for pod in tracked.values()
        ),
        ignored=tuple(tracked[uid] for uid, one in judged.items() if not one.counts),
        uncounted=Uncounted(
            succeeded=tuple(sorted({*before.succeeded} & tracked.keys() | done)),
            failed=tuple(sorted({*before.failed} & tracked.keys() | failed)),
        ),
        succeeded=job.status.succeeded + len({*before.succeeded} - tracked.keys()),
        failed=job.status.failed + len({*before.failed} - tracked.keys()),
        fails_job=next((one.fails_job for one in judged.values() if one.fails_job), ""),
    )


def _has_failed(job: Job, pod: Pod) -> bool:
    """A deleted pod has failed, also before it ends, unless a policy must see how it ends."""
    is_leaving = bool(pod.metadata.deletion_timestamp) and not job.spec.pod_failure_policy.rules
    return pod.status.phase == "Failed" or (is_leaving and pod.status.phase != "Succeeded")


def _verdict(job: Job, count: _Count, pods: tuple[Pod, ...], now: datetime) -> Verdict | None:
    for one in job.status.conditions:
        if one.type in ("FailureTarget", "SuccessCriteriaMet") and one.status is Truth.TRUE:
            succeeded = one.type == "SuccessCriteriaMet"
            return Verdict(succeeded=succeeded, reason=one.reason, message=one.message)
    if job.spec.suspend:
        return None
    if count.fails_job:
        return Verdict(succeeded=False, reason="PodFailurePolicy", message=count.fails_job)
    if count.failed_in_all > job.spec.backoff_limit or _restarted_too_often(job, pods):
        message = "Job has reached the specified backoff limit"
        return Verdict(succeeded=False, reason="BackoffLimitExceeded", message=message)
    deadline = _deadline(job)
    if deadline is not None and deadline <= now:
        message = "Job was active longer than specified deadline"
        return Verdict(succeeded=False, reason="DeadlineExceeded", message=message)
    if _is_complete(job, count):
        message = "Reached expected number of succeeded pods"
        return Verdict(succeeded=True, reason="CompletionsReached", message=message)
    return None


def _is_complete(job: Job, count: _Count) -> bool:
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


def _wanted(job: Job, count: _Count, verdict: Verdict | None) -> int:
    """How many pods may be active."""
    if verdict is not None or job.spec.suspend or job.metadata.deletion_timestamp:
        return 0
    if job.spec.completions is None:
        return len(count.active) if count.succeeded_in_all else job.spec.parallelism
    return min(job.spec.parallelism, job.spec.completions - count.succeeded_in_all)


def _counting(job: Job, count: _Count, pods: tuple[Pod, ...]) -> list[Action]:
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


def _stopped(pods: tuple[Pod, ...], job: Job, verdict: Verdict | None) -> list[Action]:
    because = verdict.message if verdict else "the Job is suspended or wants fewer pods"
    actions: list[Action] = []
    for pod in pods:
        actions.append(Delete(resource=PODS, key=pod.key, uid=pod.metadata.uid, because=because))
        actions.append(_record(job, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"))
    return actions


def _started(job: Job, pods: tuple[Pod, ...]) -> list[Action]:
    """One at a time: the features run Jobs of one pod."""
    body = _pod(job, _free_name(job, {pod.metadata.name for pod in pods}))
    name = body["metadata"]["name"]
    return [
        Create(resource=PODS, body=body, because="the Job has too few active pods"),
        _record(job, "SuccessfulCreate", f"Created pod: {name}"),
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


def _status(job: Job, count: _Count, verdict: Verdict | None, now: datetime) -> JobStatus:
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
    found: tuple[Condition, ...], verdict: Verdict, *, is_final: bool, now: datetime
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


def _ending(job: Job, status: JobStatus) -> list[Action]:
    known = {one.type for one in job.status.conditions if one.status is Truth.TRUE}
    for one in status.conditions:
        if one.type not in known and one.status is Truth.TRUE:
            match one.type:
                case "Complete":
                    return [_record(job, "Completed", "Job completed")]
                case "Failed":
                    return [_record(job, one.reason, one.message, warning=True)]
                case "Suspended":
                    return [_record(job, "Suspended", "Job suspended")]
    return []


def _record(job: Job, reason: str, note: str, *, warning: bool = False) -> Record:
    return Record(resource=JOBS, about=job, reason=reason, because=note, warning=warning)


def _write(job: Job, status: JobStatus) -> WriteStatus:
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
    return WriteStatus(
        resource=JOBS,
        key=job.key,
        resource_version=job.metadata.resource_version,
        status=body,
        because="the pods of the Job changed",
    )


def _condition_body(condition: Condition) -> Document:
    body: Document = msgspec.to_builtins(condition)
    return {**body, "lastProbeTime": condition.last_transition_time}


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
