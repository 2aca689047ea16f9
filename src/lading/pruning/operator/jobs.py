"""The Jobs of the CronJob that have ended, and why one failed. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from lading.api.core import Job, Pod
from lading.api.imageregistry import ImagePrunerStatus, PruneRun, PruneRunPhase
from lading.kernel import conditions, texts
from lading.kernel.conditions import Condition, Truth
from lading.kernel.objects import Object
from lading.pruning.operator.types import ObservedPruner, PrunerReason

_OOM_KILLED = "OOMKilled"
_WORDS_BYTES_MAX = 1024
_JOB_NAME_LABEL = "batch.kubernetes.io/job-name"


class EndedJob(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    start: datetime | None
    end: datetime
    failure: str | None
    """The message of Kubernetes; None if the Job succeeded."""


def own_jobs(observed: ObservedPruner) -> list[Job]:
    """Only Jobs of this CronJob, not of an earlier one."""
    uid = observed.cron_job.metadata.uid if observed.cron_job else ""
    return [one for one in observed.jobs if uid and _controller_uid(one) == uid]


def _controller_uid(one: Object) -> str:
    return next((owner.uid for owner in one.metadata.owner_references if owner.controller), "")


def ended_of(job: Job) -> EndedJob | None:
    failed = job.failure
    condition = failed or job.completion
    if condition is None:
        return None
    written = job.status.completion_time or condition.last_transition_time
    end = instant(written) or instant(job.metadata.creation_timestamp)
    if end is None:
        return None
    cause = None if failed is None else (failed.message or failed.reason)
    return EndedJob(
        name=job.metadata.name, start=instant(job.status.start_time), end=end, failure=cause
    )


def newest(jobs: Iterable[Job], last: ImagePrunerStatus) -> EndedJob | None:
    """The Job that ended last, unless the status already shows a newer one."""
    known = instant(last.last_job_end_time)
    ended = [one for one in map(ended_of, jobs) if one is not None]
    newer = [one for one in ended if known is None or one.end >= known]
    return max(newer, key=lambda one: (one.end, one.name), default=None)


def seconds(ended: EndedJob) -> int:
    return max(0, int((ended.end - ended.start).total_seconds())) if ended.start else 0


def is_explained(before: Condition, ended: EndedJob) -> bool:
    """The condition keeps its cause, because the pods may be gone."""
    return (
        before.status is Truth.TRUE
        and before.reason != PrunerReason.JOB_FAILED
        and f" {ended.name} failed:" in before.message
    )


def cause(
    observed: ObservedPruner, ended: EndedJob, runs: list[PruneRun]
) -> tuple[PrunerReason, str]:
    for run in runs:
        if run.phase == PruneRunPhase.REFUSED:
            return PrunerReason.REFUSED, f"{run.name}: {run.message}"
    for container in _out_of_memory(observed.pods, ended):
        message = (
            f"container {container} used more memory than its limit. Raise the memory limit in "
            "spec.resources."
        )
        return PrunerReason.OUT_OF_MEMORY, message
    failures = [f"{one.name}: {one.message}" for one in runs if one.phase == PruneRunPhase.FAILED]
    cause = " ".join(failures or _last_words(observed.pods, ended))
    return PrunerReason.JOB_FAILED, cause or ended.failure or ""


def _out_of_memory(pods: Iterable[Pod], ended: EndedJob) -> Iterator[str]:
    for pod in pods:
        if pod.metadata.labels.get(_JOB_NAME_LABEL) != ended.name:
            continue
        for one in pod.status.container_statuses:
            if one.state.terminated and one.state.terminated.reason == _OOM_KILLED:
                yield one.name


def _last_words(pods: Iterable[Pod], ended: EndedJob) -> Iterator[str]:
    """The last messages of the failed containers of the newest pod."""
    own = [one for one in pods if one.metadata.labels.get(_JOB_NAME_LABEL) == ended.name]
    for pod in sorted(own, key=lambda one: one.metadata.creation_timestamp)[-1:]:
        for one in pod.status.container_statuses:
            if one.state.terminated and one.state.terminated.reason != "Completed":
                words = one.state.terminated.message.strip() or one.state.terminated.reason
                yield f"{one.name}: {texts.bounded_text(words, bytes_max=_WORDS_BYTES_MAX)}"


def unknown(runs: Iterable[PruneRun]) -> Iterator[str]:
    for run in runs:
        if run.unknown_references:
            objects = ", ".join(run.unknown_reference_objects)
            yield (
                f"{run.name}: {run.unknown_references} references cannot be read, so what they "
                f"may name is kept: {objects}."
            )


def instant(text: str | None) -> datetime | None:
    return conditions.instant(text) if text else None
