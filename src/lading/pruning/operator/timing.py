"""When Jobs of the CronJob are due, and whether one was missed. Pure."""

from datetime import UTC, datetime, timedelta

import msgspec

from lading.api.core import CronJob
from lading.api.imageregistry import ImagePrunerStatus
from lading.kernel import conditions, cron
from lading.kernel.cron import EverySchedule, Schedule
from lading.kernel.errors import Malformed
from lading.pruning.operator.jobs import EndedJob, instant
from lading.pruning.operator.types import (
    ObservedPruner,
    PrunerConditionType,
    PrunerReason,
    PrunerSettings,
)

GAPS = 8
"""How many runs ahead are compared for the longest period."""
DEADLINE_SECONDS_MAX = 10 * 365 * 24 * 3600
"""A longer deadline would exceed the range of dates."""


class DueTimes(msgspec.Struct, frozen=True, kw_only=True):
    schedule: str = ""
    since: datetime | None = None
    next_at: datetime | None = None
    period: timedelta | None = None
    missed: datetime | None = None
    """A due time without a Job."""
    missed_at: datetime | None = None
    """When the next start counts as missed."""


def timing_of(
    observed: ObservedPruner,
    last: ImagePrunerStatus,
    ended: EndedJob | None,
    settings: PrunerSettings,
    now: datetime,
    *,
    is_active: bool,
) -> DueTimes:
    found = observed.cron_job
    if found is None or found.spec.get("suspend"):
        return DueTimes()
    text = str(found.spec.get("schedule", ""))
    try:
        schedule = cron.parse(text)
    except Malformed:
        return DueTimes()
    since = _since(observed, last, text, now)
    began = [since, instant(found.status.last_schedule_time), ended.end if ended else None]
    due = schedule.next(max(one for one in began if one is not None), UTC)
    seconds = int(found.spec.get("startingDeadlineSeconds") or 0)
    deadline = timedelta(seconds=min(seconds, DEADLINE_SECONDS_MAX))
    missed_at = due and due + deadline + settings.missed_grace
    is_missed = missed_at is not None and missed_at <= now and not is_active
    return DueTimes(
        schedule=text,
        since=since,
        next_at=_next_at(schedule, found, now),
        period=period(text, now),
        missed=due if is_missed else None,
        missed_at=None if is_missed or is_active else missed_at,
    )


def _next_at(schedule: Schedule, found: CronJob, now: datetime) -> datetime | None:
    """`@every` counts from the last start, or from when the CronJob was created."""
    start = instant(found.status.last_schedule_time) or instant(found.metadata.creation_timestamp)
    if isinstance(schedule, EverySchedule) and start is not None:
        return start + ((now - start) // schedule.delay + 1) * schedule.delay
    return schedule.next(now, UTC)


def _since(
    observed: ObservedPruner, last: ImagePrunerStatus, schedule: str, now: datetime
) -> datetime:
    """Since when the schedule is in force. Earlier times are not due."""
    known = instant(last.scheduled_since)
    if observed.drops_status:
        before = conditions.find(last.conditions, PrunerConditionType.SCHEDULED)
        is_same = before is not None and before.reason != PrunerReason.SUSPENDED
        known = instant(before.last_transition_time) if before and is_same else None
        return known or now
    return known if known is not None and last.schedule == schedule else now


def period(text: str, now: datetime) -> timedelta | None:
    """The longest time between two runs of the near future."""
    try:
        schedule = cron.parse(text)
    except Malformed:
        return None
    longest, at = None, schedule.next(now, UTC)
    for _ in range(GAPS):
        following = schedule.next(at, UTC) if at else None
        if at is None or following is None:
            break
        longest = max(longest or following - at, following - at)
        at = following
    return longest
