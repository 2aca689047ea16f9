"""The schedule of a CronJob: five fields of numbers, names, ranges and steps, or a macro.

`parse` refuses what kube-apiserver refuses, with the same text. A schedule gives the next due time
in a time zone. At a change to summer time a skipped local time is not due; at the change back a
repeated local time is due twice. Neither croniter 6.2 nor cronsim 2.8 replaces this module: both
run a job of 02:30 at 03:00 on the day that skips 02:30, and only once on the day that repeats it.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from lading.kernel import durations
from lading.kernel.errors import Malformed

YEARS_AHEAD_MAX = 5  # robfig/cron, which Kubernetes uses, looks no further
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_EVERY_MIN = timedelta(seconds=1)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")  # 18 digits always fit into 64 bits
_MINUTE = timedelta(minutes=1)


class _Field(msgspec.Struct, frozen=True, kw_only=True):
    first: int
    last: int
    names: tuple[str, ...] = ()
    """The names of its numbers, from the first number on."""

    def number(self, text: str) -> int:
        name = text.lower()
        return self.first + self.names.index(name) if name in self.names else _number(text)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field(first=0, last=59),
    _Field(first=0, last=23),
    _Field(first=1, last=31),
    _Field(first=1, last=12, names=_MONTHS),
    _Field(first=0, last=6, names=_DAYS),
)


class _Invalid(ValueError):
    """A part of a schedule is not valid."""


class _Times(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers that a field allows, and whether the field is a star."""

    numbers: frozenset[int]
    is_any: bool


class FieldSchedule(msgspec.Struct, frozen=True, kw_only=True):
    minutes: frozenset[int]
    hours: frozenset[int]
    days: _Times
    months: frozenset[int]
    weekdays: _Times

    def next(self, after: datetime, zone: tzinfo) -> datetime | None:
        """The next due time in UTC; None if none follows within five years."""
        at = after.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        year_max = at.year + YEARS_AHEAD_MAX
        while at.year <= year_max:
            local = at.astimezone(zone)
            if local.month not in self.months or not self._day_fits(local):
                at = _next_midnight(local)
            elif local.hour not in self.hours:
                at += _MINUTE * (60 - local.minute)
            elif local.minute not in self.minutes:
                at += _MINUTE
            else:
                return at
        return None

    def _day_fits(self, local: datetime) -> bool:
        """If both fields restrict the day, one of them is enough."""
        fits = (
            local.day in self.days.numbers,
            (local.weekday() + 1) % 7 in self.weekdays.numbers,
        )
        return all(fits) if self.days.is_any or self.weekdays.is_any else any(fits)


class EverySchedule(msgspec.Struct, frozen=True):
    """`@every 1h30m`, counted from the last due time."""

    delay: timedelta

    def next(self, after: datetime, zone: tzinfo) -> datetime | None:
        return after.astimezone(UTC).replace(microsecond=0) + self.delay


Schedule = FieldSchedule | EverySchedule


def parse(text: str) -> Schedule:
    try:
        return _macro(text) if text.startswith("@") else _fields(text)
    except _Invalid as invalid:
        raise Malformed(what="schedule", text=text, reason=str(invalid)) from None


def _macro(text: str) -> Schedule:
    if text in _MACROS:
        return _fields(_MACROS[text])
    if not text.startswith(_EVERY):
        raise _Invalid(f"unrecognized descriptor: {text}")
    duration = text.removeprefix(_EVERY)
    try:
        delay = durations.parse(duration)
    except Malformed:
        why = f'failed to parse duration {text}: time: invalid duration "{duration}"'
        raise _Invalid(why) from None
    return EverySchedule(max(delay - timedelta(microseconds=delay.microseconds), _EVERY_MIN))


def _fields(text: str) -> Schedule:
    texts = text.split()
    if len(texts) != len(_FIELDS):
        listed = " ".join(texts)
        raise _Invalid(f"expected exactly {len(_FIELDS)} fields, found {len(texts)}: [{listed}]")
    minutes, hours, days, months, weekdays = (
        _times(one, field) for one, field in zip(texts, _FIELDS, strict=True)
    )
    return FieldSchedule(
        minutes=minutes.numbers,
        hours=hours.numbers,
        days=days,
        months=months.numbers,
        weekdays=weekdays,
    )


def _times(text: str, field: _Field) -> _Times:
    parts = [_part(part, field) for part in text.split(",") if part]
    return _Times(
        numbers=frozenset(number for part in parts for number in part.numbers),
        is_any=any(part.is_any for part in parts),
    )


def _part(part: str, field: _Field) -> _Times:
    span, *steps = part.split("/")
    start, end = _ends(span, field, part=part)
    if len(steps) > 1:
        raise _Invalid(f"too many slashes: {part}")
    if steps and "-" not in span:
        end = field.last
    step = _number(steps[0]) if steps else 1
    if start < field.first:
        raise _Invalid(f"beginning of range ({start}) below minimum ({field.first}): {part}")
    if end > field.last:
        raise _Invalid(f"end of range ({end}) above maximum ({field.last}): {part}")
    if start > end:
        raise _Invalid(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise _Invalid(f"step of range should be a positive number: {part}")
    is_any = span in ("*", "?") and step == 1
    return _Times(numbers=frozenset(range(start, end + 1, step)), is_any=is_any)


def _ends(span: str, field: _Field, *, part: str) -> tuple[int, int]:
    low, *highs = span.split("-")
    if low in ("*", "?"):
        return field.first, field.last
    start = field.number(low)
    if len(highs) > 1:
        raise _Invalid(f"too many hyphens: {part}")
    return start, field.number(highs[0]) if highs else start


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        why = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise _Invalid(f"failed to parse int from {text}: {why}")
    if text.startswith("-"):
        raise _Invalid(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


def _next_midnight(local: datetime) -> datetime:
    """The first instant of the next day, also where the clock skips midnight."""
    day = local.date() + timedelta(days=1)
    midnight = datetime(day.year, day.month, day.day, tzinfo=local.tzinfo)
    return midnight.astimezone(UTC)
