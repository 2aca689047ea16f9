"""When a status may be written: a change of state at once, mere progress at an interval.

Every write of a status is sent to everyone who watches the object, so progress is reported
rarely. Changes of state come in bursts; what comes after a burst is written evenly, so that a
state that flips all the time floods no one and no one waits long for news.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lading.kernel import planning

Writes = tuple[datetime, ...]
"""When a status was written, oldest first: the last `WRITES_KEPT` times."""
WRITES_KEPT = 30
# Every agent watches pools and sets, so each write is sent to the whole fleet: progress is
# reported the more rarely the more nodes there are (docs/adr/0005).
PROGRESS_INTERVAL_MIN = timedelta(seconds=30)
PROGRESS_INTERVAL_PER_NODE = timedelta(seconds=12)
PROGRESS_INTERVAL_MAX = timedelta(minutes=10)
STATE_INTERVAL = timedelta(minutes=5)
STATE_BURST = 6  # a rollout has a start and an end; a node may fail and recover in between


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    progress_interval: timedelta
    state_interval: timedelta
    burst: int
    """So many changes of state within `state_interval` are written at once; then evenly."""

    def __post_init__(self) -> None:
        assert 0 < self.burst <= WRITES_KEPT, "a longer burst would not be remembered"

    def due_at(self, writes: Writes, *, state_changed: bool, now: datetime) -> datetime:
        """When the status may be written next; not later than now means at once."""
        if not writes:
            return now
        if not state_changed:
            return planning.due(writes[-1], self.progress_interval, now=now)
        if len(writes) < self.burst:
            return now
        return min(
            planning.due(writes[-self.burst], self.state_interval, now=now),
            planning.due(writes[-1], self.state_interval / self.burst, now=now),
        )


def of_fleet(nodes: int) -> Pacing:
    """For the status of an object that so many agents watch."""
    grown = max(PROGRESS_INTERVAL_MIN, PROGRESS_INTERVAL_PER_NODE * nodes)
    return Pacing(
        progress_interval=min(grown, PROGRESS_INTERVAL_MAX),
        state_interval=STATE_INTERVAL,
        burst=STATE_BURST,
    )


def with_write(writes: Writes, now: datetime) -> Writes:
    return (*writes, now)[-WRITES_KEPT:]
