"""Which failures of pods count, which end the Job, and how long to wait after one. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lading.kernel.backoff import Backoff
from lading.standalone.workloads.kinds import (
    ContainerStatus,
    ExitCodes,
    FailurePolicy,
    FailureRule,
    Pod,
)

BACKOFF = Backoff(seconds_min=10, seconds_max=600, jitter_fraction=0)
"""Between the pods of a Job, as in kube-controller-manager."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    counts: bool = True
    fails_job: str = ""
    """The message, when the pod ends the whole Job."""


def judge(policy: FailurePolicy, pod: Pod) -> Judgement:
    """The first rule that matches decides; without one the failure counts."""
    for index, rule in enumerate(policy.rules):
        why = _match(rule, pod)
        if why:
            match rule.action:
                case "FailJob":
                    return Judgement(fails_job=f"{why} matching FailJob rule at index {index}")
                case "Ignore":
                    return Judgement(counts=False)
                case _:
                    return Judgement()
    return Judgement()


def _match(rule: FailureRule, pod: Pod) -> str:
    """What of the pod the rule matches, in a sentence; empty when nothing does."""
    if rule.on_exit_codes is not None:
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            if _exit_code_matches(rule.on_exit_codes, status):
                terminated = status.state.terminated
                assert terminated is not None
                code = terminated.exit_code
                return f"Container {status.name} for pod {pod.key} failed with exit code {code}"
    for pattern in rule.on_pod_conditions:
        for one in pod.status.conditions:
            if (one.type, one.status) == (pattern.type, pattern.status):
                return f"Pod {pod.key} has condition {one.type}"
    return ""


def _exit_code_matches(codes: ExitCodes, status: ContainerStatus) -> bool:
    terminated = status.state.terminated
    is_meant = codes.container_name in (None, status.name)
    if terminated is None or terminated.exit_code == 0 or not is_meant:
        return False
    is_listed = terminated.exit_code in codes.values
    return is_listed if codes.operator == "In" else not is_listed


def retry_at(pods: Iterable[Pod], failed: int) -> datetime | None:
    """When the next pod may start after so many failures; None for at once."""
    ends = [end for pod in pods if (end := finished_at(pod)) is not None]
    if not failed or not ends:
        return None
    return max(ends) + timedelta(seconds=BACKOFF.delay_seconds(failures=failed, jitter=0))


def finished_at(pod: Pod) -> datetime | None:
    """When the last container of a failed pod ended, as far as the pod says so."""
    if pod.status.phase != "Failed":
        return None
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    ends = [
        datetime.fromisoformat(status.state.terminated.finished_at)
        for status in statuses
        if status.state.terminated is not None and status.state.terminated.finished_at
    ]
    return max(ends, default=None)
