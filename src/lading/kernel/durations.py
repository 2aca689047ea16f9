"""Go durations (`1h30m`, `250ms`), the form that Kubernetes objects and our settings use.

Exact to the microsecond, which is what `timedelta` holds; finer parts are cut off.
"""

import re
from datetime import timedelta
from decimal import Decimal

from lading.kernel.errors import Malformed

_MICROSECONDS = {
    "ns": Decimal("0.001"),
    "us": Decimal(1),
    "µs": Decimal(1),
    "μs": Decimal(1),
    "ms": Decimal(10**3),
    "s": Decimal(10**6),
    "m": Decimal(60 * 10**6),
    "h": Decimal(3600 * 10**6),
}
_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"[+-]?(?:0|(?:{_PART})+)")
DURATION_CHARACTERS_MAX = 64
MICROSECONDS_MAX = 2**63 // 1000  # Go counts nanoseconds in 64 bits


def parse(text: str) -> timedelta:
    if len(text) > DURATION_CHARACTERS_MAX or not _DURATION.fullmatch(text):
        raise _malformed(text, "expected a duration such as '1h30m', '2m' or '250ms'")
    total = sum(Decimal(number) * _MICROSECONDS[unit] for number, unit in re.findall(_PART, text))
    if total > MICROSECONDS_MAX:
        raise _malformed(text, "it is longer than the 292 years that Go can hold")
    return timedelta(microseconds=int(-total if text.startswith("-") else total))


def format_duration(duration: timedelta) -> str:
    microseconds = duration // timedelta(microseconds=1)
    sign, rest = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    hours, rest = divmod(rest, 3600 * 10**6)
    minutes, rest = divmod(rest, 60 * 10**6)
    seconds = f"{Decimal(rest) / 10**6:f}s" if rest or not (hours or minutes) else ""
    parts = (f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", seconds)
    return sign + "".join(parts)


def _malformed(text: str, reason: str) -> Malformed:
    return Malformed(what="duration", text=text, reason=reason)
