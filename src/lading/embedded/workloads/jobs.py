"""The next pod of a Job, and when the Job has ended. Pure.

A Job runs one pod at a time until one succeeds. Conditions and texts are those of Kubernetes 1.36.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lading.embedded.workloads import actions, kinds
from lading.embedded.workloads.actions import Create, Patch
from lading.embedded.workloads.kinds import (
    JOBS,
    PODS,
    Condition,
    ExitCodes,
    Job,
    JobStatus,
    Pod,
)
from lading.kernel import conditions
from lading.kernel.backoff import Backoff
from lading.kernel.conditions import Truth
from lading.kernel.planning import Action, Plan

BACKOFF = Backoff(seconds_min=10, seconds_max=600, jitter_fraction=0)
"""The delay between two pods of a Job, as in kube-controller-manager."""


class ObservedJob(msgspec.Struct, frozen=True, kw_only=True):
    job: Job | None
    pods: tuple[Pod, ...]
    """The pods that the Job controls."""


class _Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a Job ends."""

    succeeded: bool
    reason: str
    message: str


def plan(observed: ObservedJob, now: datetime) -> Plan:
    job = observed.job
    if job is None or job.is_finished or job.metadata.deletion_timestamp:
        return Plan()
    running = [pod for pod in observed.pods if not pod.is_finished]
    # The status remembers failed pods that were deleted meanwhile.
    failed = max(sum(_has_failed(pod) for pod in observed.pods), job.status.failed)
    verdict = _verdict(job, observed.pods, failed)
    retry_at = _retry_at(observed.pods, failed)
    is_waiting = retry_at is not None and retry_at > now
    found: list[Action] = []
    # The start time is written before the first pod, so that the Job never ends before it started.
    if not running and verdict is None and not is_waiting and job.status.start_time:
        taken = {pod.metadata.name for pod in observed.pods}
        body = kinds.pod_from_template(JOBS, job, job.spec.template, purpose="", taken=taken)
        found.append(Create(resource=PODS, body=body, because="the Job has no running pod"))
    status = _status(job, observed.pods, failed, verdict, now)
    if status != job.status:
        found.append(_write(job, status))
    return Plan(actions=tuple(found), recheck_at=retry_at if is_waiting else None)


def _has_failed(pod: Pod) -> bool:
    return pod.status.phase == "Failed"


def _verdict(job: Job, pods: Iterable[Pod], failed: int) -> _Verdict | None:
    for pod in pods:
        if pod.status.phase == "Succeeded":
            message = "Reached expected number of succeeded pods"
            return _Verdict(succeeded=True, reason="CompletionsReached", message=message)
        message = _fatal_exit(job, pod)
        if message:
            return _Verdict(succeeded=False, reason="PodFailurePolicy", message=message)
    if failed > job.spec.backoff_limit:
        message = "Job has reached the specified backoff limit"
        return _Verdict(succeeded=False, reason="BackoffLimitExceeded", message=message)
    return None


def _fatal_exit(job: Job, pod: Pod) -> str:
    """The exit code for which the failure policy ends the Job, as a sentence, or ""."""
    if not _has_failed(pod):
        return ""
    for index, rule in enumerate(job.spec.pod_failure_policy.rules):
        for name, status in pod.statuses.items():
            ended = status.state.terminated
            code = ended.exit_code if ended else 0
            if rule.on_exit_codes and code and _matches(rule.on_exit_codes, name, code):
                if rule.action != "FailJob":
                    return ""
                return (
                    f"Container {name} for pod {pod.key} failed with exit code {code} matching"
                    f" FailJob rule at index {index}"
                )
    return ""


def _matches(codes: ExitCodes, container: str, code: int) -> bool:
    is_listed = code in codes.values
    is_meant = codes.container_name in (None, container)
    return is_meant and (is_listed if codes.operator == "In" else not is_listed)


def _retry_at(pods: Iterable[Pod], failed: int) -> datetime | None:
    """When the next pod may start; None if no pod has failed."""
    ends = [
        datetime.fromisoformat(status.state.terminated.finished_at)
        for pod in pods
        if _has_failed(pod)
        for status in pod.statuses.values()
        if status.state.terminated is not None and status.state.terminated.finished_at
    ]
    if not failed or not ends:
        return None
    return max(ends) + timedelta(seconds=BACKOFF.delay_seconds(failures=failed, jitter=0))


def _status(
    job: Job, pods: tuple[Pod, ...], failed: int, verdict: _Verdict | None, now: datetime
) -> JobStatus:
    at = conditions.timestamp(now)
    active = [pod for pod in pods if not pod.is_finished and not pod.metadata.deletion_timestamp]
    return JobStatus(
        conditions=job.status.conditions if verdict is None else _ending(verdict, at),
        start_time=job.status.start_time or at,
        completion_time=at if verdict is not None and verdict.succeeded else None,
        active=len(active),
        ready=sum(pod.is_ready for pod in active),
        succeeded=sum(pod.status.phase == "Succeeded" for pod in pods),
        failed=failed,
    )


def _ending(verdict: _Verdict, at: str) -> tuple[Condition, ...]:
    types = ("SuccessCriteriaMet", "Complete") if verdict.succeeded else ("FailureTarget", "Failed")
    return tuple(
        Condition(
            type=type_,
            status=Truth.TRUE,
            reason=verdict.reason,
            message=verdict.message,
            last_transition_time=at,
        )
        for type_ in types
    )


def _write(job: Job, status: JobStatus) -> Patch:
    """Counters that are 0 are absent, as kube-controller-manager writes them."""
    listed = [
        {**msgspec.to_builtins(one), "lastProbeTime": one.last_transition_time}
        for one in status.conditions
    ]
    body = {
        "conditions": listed or None,
        "startTime": status.start_time,
        "completionTime": status.completion_time,
        "active": status.active or None,
        "ready": status.ready,
        "succeeded": status.succeeded or None,
        "failed": status.failed or None,
    }
    return actions.write_status(JOBS, job, body, because="the pods of the Job changed")
