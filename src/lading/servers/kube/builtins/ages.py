"""How long ago something was, as kubectl writes it: 45s, 3m12s, 5h, 12d, 2y30d."""

from datetime import UTC, datetime
from typing import Any

UNKNOWN = "<unknown>"
# From this many seconds on, a unit is counted: the larger one, and with it the smaller one or not.
_STEPS = (
    (8 * 365 * 86_400, 365 * 86_400, "y", 0, ""),
    (2 * 365 * 86_400, 365 * 86_400, "y", 86_400, "d"),
    (8 * 86_400, 86_400, "d", 0, ""),
    (2 * 86_400, 86_400, "d", 3_600, "h"),
    (8 * 3_600, 3_600, "h", 0, ""),
    (3 * 3_600, 3_600, "h", 60, "m"),
    (10 * 60, 60, "m", 0, ""),
    (2 * 60, 60, "m", 1, "s"),
)


def age(timestamp: Any, now: datetime) -> str:
    """The age of an RFC 3339 timestamp; what is not one is unknown."""
    if not isinstance(timestamp, str) or not timestamp:
        return UNKNOWN
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "<invalid>"
    return duration(int((now - then.astimezone(UTC)).total_seconds()))


def duration(seconds: int) -> str:
    if seconds < -1:
        return "<invalid>"
    for start, large, unit, small, small_unit in _STEPS:
        if seconds >= start:
            rest = seconds % large // small if small else 0
            return f"{seconds // large}{unit}" + (f"{rest}{small_unit}" if rest else "")
    return f"{max(seconds, 0)}s"
