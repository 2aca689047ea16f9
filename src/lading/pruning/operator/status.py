"""The status of the ImagePruner and its metrics, from its CronJob, Jobs and pods. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lading.api.core import CronJob, Job
from lading.api.imageregistry import SCHEDULE_DEFAULT, ImagePrunerStatus, StoredImagePruner
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.kernel.planning import RecordEvent, earliest
from lading.kernel.values import replace
from lading.pruning.operator import jobs, timing
from lading.pruning.operator.jobs import EndedJob
from lading.pruning.operator.timing import DueTimes
from lading.pruning.operator.types import (
    EffectiveSpec,
    ObservedPruner,
    PrunerConditionType,
    PrunerFacts,
    PrunerReason,
    PrunerSettings,
    WritePrunerStatus,
)

SUCCEEDED = "Most recent image pruning job succeeded."


class NewStatus(msgspec.Struct, frozen=True, kw_only=True):
    status: ImagePrunerStatus
    facts: PrunerFacts
    recheck_at: datetime | None


def status_of(pruner: StoredImagePruner) -> ImagePrunerStatus:
    """Without what is malformed: the conditions of another writer may lack fields."""
    raw = pruner.status
    found = tuple(_readable(raw.get("conditions") or ()))
    rest = {name: value for name, value in raw.items() if name != "conditions"}
    try:
        return replace(msgspec.convert(rest, ImagePrunerStatus), conditions=found)
    except msgspec.ValidationError:
        return ImagePrunerStatus(conditions=found)


def _readable(documents: Iterable[Any]) -> Iterator[Condition]:
    for one in documents:
        try:
            yield msgspec.convert({"reason": "", **one}, Condition)
        except (msgspec.ValidationError, TypeError):
            continue


def new_status(
    observed: ObservedPruner,
    pruner: StoredImagePruner,
    spec: EffectiveSpec | None,
    problem: str,
    settings: PrunerSettings,
    now: datetime,
) -> NewStatus:
    """`problem` is the reason why the objects differ from the spec."""
    last = status_of(pruner)
    owned = jobs.own_jobs(observed)
    active = [one for one in owned if jobs.ended_of(one) is None]
    ended = jobs.newest(owned, last)
    due = timing.timing_of(observed, last, ended, settings, now, is_active=bool(active))
    found = (
        _available(observed, problem),
        _scheduled(observed, due, problem),
        _failed(observed, ended, last),
        _ambiguous(spec, last),
    )
    success = _last_success(observed, owned, last)
    status = replace(
        last,
        observed_generation=pruner.metadata.generation,
        conditions=conditions.with_conditions(
            last.conditions, found, generation=pruner.metadata.generation, now=now
        ),
        schedule=due.schedule,
        scheduled_since=_text(due.since),
        next_schedule_time=_text(due.next_at),
        last_success_time=_text(success),
    )
    if ended is not None:
        status = replace(
            status,
            last_job=ended.name,
            last_job_end_time=_text(ended.end),
            last_job_duration_seconds=jobs.seconds(ended),
        )
    return NewStatus(
        status=status,
        facts=_facts(status, observed, active, due, success),
        recheck_at=due.missed_at,
    )


def write(
    observed: ObservedPruner, pruner: StoredImagePruner, status: ImagePrunerStatus
) -> Iterator[WritePrunerStatus | RecordEvent]:
    """Nothing if the status is unchanged."""
    last = status_of(pruner)
    if _compared(status, observed) == _compared(last, observed):
        return
    yield WritePrunerStatus(
        key=pruner.key,
        resource_version=pruner.metadata.resource_version,
        status=_written(status, observed),
        because="its status changed",
    )
    for one in _news(last, status):
        bad = one.status is (Truth.TRUE if one.type == PrunerConditionType.FAILED else Truth.FALSE)
        yield RecordEvent(reason=PrunerReason(one.reason), warning=bad, because=one.message)


def _compared(status: ImagePrunerStatus, observed: ObservedPruner) -> object:
    if observed.drops_status:
        own = {one.type: one for one in status.conditions if one.type in set(PrunerConditionType)}
        return status.observed_generation, own
    return status


def _written(status: ImagePrunerStatus, observed: ObservedPruner) -> ImagePrunerStatus:
    """Without the reports of Jobs and the conditions of other writers."""
    own = tuple(one for one in status.conditions if one.type in set(PrunerConditionType))
    if observed.drops_status:
        return ImagePrunerStatus(observed_generation=status.observed_generation, conditions=own)
    return replace(status, last_run=(), conditions=own)


def _news(last: ImagePrunerStatus, status: ImagePrunerStatus) -> Iterator[Condition]:
    """Conditions with a new status or reason, except those that say that nothing happened."""
    for one in status.conditions:
        before = conditions.find(last.conditions, one.type)
        is_same = before is not None and (before.status, before.reason) == (one.status, one.reason)
        quiet = (PrunerReason.NOT_RUN, PrunerReason.SETTINGS_AGREE)
        if not is_same and one.reason not in quiet and one.type in set(PrunerConditionType):
            yield one


def facts_of_others(observed: ObservedPruner, now: datetime) -> PrunerFacts:
    """From the status, if another operator manages the ImagePruner."""
    pruner = observed.pruner
    if pruner is None:
        return PrunerFacts()
    status = status_of(pruner)
    failed = conditions.find(status.conditions, PrunerConditionType.FAILED)
    is_known = failed is not None and failed.status is not Truth.UNKNOWN
    schedule = pruner.spec.get("schedule") or SCHEDULE_DEFAULT
    return PrunerFacts(
        exists=True,
        is_scheduled=conditions.is_true(status.conditions, PrunerConditionType.SCHEDULED),
        is_suspended=pruner.spec.get("suspend") is True,
        has_failed=failed is not None and failed.status is Truth.TRUE if is_known else None,
        period=timing.period(str(schedule), now),
    )


def _available(observed: ObservedPruner, problem: str) -> Condition:
    if problem or observed.cron_job is None:
        stays = " The last good CronJob stays." if observed.cron_job and problem else ""
        message = problem or "The CronJob of the image pruner does not exist."
        return _condition(
            PrunerConditionType.AVAILABLE, Truth.FALSE, PrunerReason.ERROR, f"{message}{stays}"
        )
    message = "Periodic image pruner has been created."
    return _condition(PrunerConditionType.AVAILABLE, Truth.TRUE, PrunerReason.READY, message)


def _scheduled(observed: ObservedPruner, due: DueTimes, problem: str) -> Condition:
    kind = PrunerConditionType.SCHEDULED
    if observed.cron_job is None:
        message = f"Image pruner job is not scheduled. {problem}".strip()
        return _condition(kind, Truth.FALSE, PrunerReason.ERROR, message)
    if observed.cron_job.spec.get("suspend"):
        message = "Image pruner job has been suspended."
        return _condition(kind, Truth.FALSE, PrunerReason.SUSPENDED, message)
    if due.missed is not None:
        message = (
            f"Image pruner job was due at {conditions.timestamp(due.missed)} and was not "
            "started. Check the CronJob controller and the events of the CronJob."
        )
        return _condition(kind, Truth.FALSE, PrunerReason.ERROR, message)
    if due.next_at is None:
        message = (
            "Image pruner job is never due: spec.schedule names no day of the next five years."
        )
        return _condition(kind, Truth.FALSE, PrunerReason.ERROR, message)
    message = "Image pruner job has been scheduled."
    return _condition(kind, Truth.TRUE, PrunerReason.SCHEDULED, message)


def _failed(observed: ObservedPruner, ended: EndedJob | None, last: ImagePrunerStatus) -> Condition:
    kind = PrunerConditionType.FAILED
    before = conditions.find(last.conditions, kind)
    if ended is None:
        if before is not None and before.status is not Truth.UNKNOWN:
            return before
        message = "No image pruning job has ended yet."
        return _condition(kind, Truth.UNKNOWN, PrunerReason.NOT_RUN, message)
    runs = [one for one in observed.reports if one.job == ended.name]
    if ended.failure is None:
        message = " ".join((SUCCEEDED, *jobs.unknown(runs)))
        return _condition(kind, Truth.FALSE, PrunerReason.SUCCEEDED, message)
    if before is not None and jobs.is_explained(before, ended):
        return before
    reason, cause = jobs.cause(observed, ended, runs)
    message = " ".join(
        (f"Most recent image pruning job {ended.name} failed: {cause}", *jobs.unknown(runs))
    )
    return _condition(kind, Truth.TRUE, reason, message)


def _ambiguous(spec: EffectiveSpec | None, last: ImagePrunerStatus) -> Condition:
    kind = PrunerConditionType.AMBIGUOUS
    before = conditions.find(last.conditions, kind)
    if spec is None and before is not None:
        return before
    if spec is not None and spec.disagreements:
        message = " ".join(spec.disagreements)
        return _condition(kind, Truth.TRUE, PrunerReason.SETTINGS_DISAGREE, message)
    message = "All settings agree."
    return _condition(kind, Truth.FALSE, PrunerReason.SETTINGS_AGREE, message)


def _condition(
    kind: PrunerConditionType, status: Truth, reason: PrunerReason, message: str
) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message)


def _last_success(
    observed: ObservedPruner, owned: Iterable[Job], last: ImagePrunerStatus
) -> datetime | None:
    found = [
        one.end for one in map(jobs.ended_of, owned) if one is not None and one.failure is None
    ]
    known = [jobs.instant(last.last_success_time)]
    if observed.cron_job is not None:
        known.append(jobs.instant(observed.cron_job.status.last_successful_time))
    return max((*found, *(one for one in known if one is not None)), default=None)


def _facts(
    status: ImagePrunerStatus,
    observed: ObservedPruner,
    active: Iterable[Job],
    due: DueTimes,
    success: datetime | None,
) -> PrunerFacts:
    failed = conditions.find(status.conditions, PrunerConditionType.FAILED)
    is_known = failed is not None and failed.status is not Truth.UNKNOWN
    runs = tuple(one for one in observed.reports if one.job and one.job == status.last_job)
    return PrunerFacts(
        exists=True,
        is_scheduled=conditions.is_true(status.conditions, PrunerConditionType.SCHEDULED),
        is_suspended=_is_suspended(observed.cron_job),
        has_failed=failed is not None and failed.status is Truth.TRUE if is_known else None,
        scheduled_since=due.since,
        active_since=earliest(
            *(
                jobs.instant(one.status.start_time) or jobs.instant(one.metadata.creation_timestamp)
                for one in active
            )
        ),
        last_success=success,
        period=due.period,
        last_duration=(
            timedelta(seconds=status.last_job_duration_seconds) if status.last_job else None
        ),
        runs=runs,
    )


def _is_suspended(cron_job: CronJob | None) -> bool:
    return cron_job is not None and bool(cron_job.spec.get("suspend"))


def _text(at: datetime | None) -> str:
    return conditions.timestamp(at) if at is not None else ""
