"""When a status may be written: a change of state at once, mere progress at an interval.

Every write of a status is sent to everyone who watches the object, so progress is reported
rarely. Changes of state come in bursts; what comes after a burst is written evenly, so that a
state that flips all the time floods no one and no one waits long for news.
"""

from datetime import datetime, timedelta

import msgspec

from lading.kernel import planning

Writes = tuple[datetime, ...]
"""When a status was written, oldest first: the last `WRITES_KEPT` times."""
WRITES_KEPT = 30


class Pacing(msgspec.Struct, frozen=True, kw_only=True):
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


class FleetPacing(msgspec.Struct, frozen=True, kw_only=True):
    """For the status of an object that every agent watches: a write is sent to the whole fleet.

    Progress is reported the more rarely the more nodes there are (docs/adr/0005).
    """

    progress_interval_min: timedelta = timedelta(seconds=30)
    progress_interval_per_node: timedelta = timedelta(seconds=12)
    progress_interval_max: timedelta = timedelta(minutes=10)
    state_interval: timedelta = timedelta(minutes=5)
    burst: int = 6
    """A rollout has a start and an end; a node may fail and recover in between."""

    def for_nodes(self, count: int) -> Pacing:
        grown = max(self.progress_interval_min, self.progress_interval_per_node * count)
        return Pacing(
            progress_interval=min(grown, self.progress_interval_max),
            state_interval=self.state_interval,
            burst=self.burst,
        )


FLEET_PACING = FleetPacing()


def with_write(writes: Writes, now: datetime) -> Writes:
    return (*writes, now)[-WRITES_KEPT:]
