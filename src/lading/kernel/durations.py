"""Go durations (`1h30m`, `250ms`), the form that Kubernetes objects and our settings use."""

import re
from datetime import timedelta

import durationpy

from lading.kernel.errors import Malformed

_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
DURATION_CHARACTERS_MAX = 64
_REASON = "expected Go syntax such as '1h30m', '2m' or '250ms'"


def parse(text: str) -> timedelta:
    if len(text) > DURATION_CHARACTERS_MAX or not _DURATION.fullmatch(text):
        raise Malformed(what="duration", text=text, reason=_REASON)
    try:
        parsed = durationpy.from_str(text)
    except (ValueError, OverflowError) as error:
        raise Malformed(what="duration", text=text, reason=_REASON) from error
    assert isinstance(parsed, timedelta)
    return parsed


def format_duration(duration: timedelta) -> str:
    return str(durationpy.to_str(duration, extended=False))
