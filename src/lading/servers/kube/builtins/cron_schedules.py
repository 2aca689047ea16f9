"""Can a CronJob keep its schedule: five fields of numbers, names, ranges and steps, or one word.

It says what is wrong in the words that kube-apiserver uses. When a job is due is not asked here.
"""

import re
from dataclasses import dataclass

from lading.kernel import durations
from lading.kernel.errors import Malformed

_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")  # what fits into 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    first: int
    last: int
    names: tuple[str, ...] = ()
    """Of its numbers from the first on."""

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


class _Wrong(ValueError):
    """A part of a schedule that means nothing."""


def problem(schedule: str) -> str:
    """Why the schedule cannot be kept; empty when it can."""
    if schedule.startswith("@"):
        return _problem_of_word(schedule)
    texts = schedule.split()
    if len(texts) != len(_FIELDS):
        listed = " ".join(texts)
        return f"expected exactly {len(_FIELDS)} fields, found {len(texts)}: [{listed}]"
    try:
        for text, field in zip(texts, _FIELDS, strict=True):
            for part in filter(None, text.split(",")):
                _check(part, field)
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _problem_of_word(word: str) -> str:
    if not word.startswith(_EVERY):
        return "" if word in _WORDS else f"unrecognized descriptor: {word}"
    duration = word.removeprefix(_EVERY)
    try:
        durations.parse(duration)
    except Malformed:
        return f'failed to parse duration {word}: time: invalid duration "{duration}"'
    return ""


def _check(part: str, field: _Field) -> None:
    span, *steps = part.split("/")
    start, end = _ends(span, field, part=part)
    if len(steps) > 1:
        raise _Wrong(f"too many slashes: {part}")
    if steps and "-" not in span:
        end = field.last
    step = _number(steps[0]) if steps else 1
    if start < field.first:
        raise _Wrong(f"beginning of range ({start}) below minimum ({field.first}): {part}")
    if end > field.last:
        raise _Wrong(f"end of range ({end}) above maximum ({field.last}): {part}")
    if start > end:
        raise _Wrong(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise _Wrong(f"step of range should be a positive number: {part}")


def _ends(span: str, field: _Field, *, part: str) -> tuple[int, int]:
    low, *highs = span.split("-")
    if low in ("*", "?"):
        return field.first, field.last
    start = field.number(low)
    if len(highs) > 1:
        raise _Wrong(f"too many hyphens: {part}")
    return start, field.number(highs[0]) if highs else start


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        why = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise _Wrong(f"failed to parse int from {text}: {why}")
    if text.startswith("-"):
        raise _Wrong(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
