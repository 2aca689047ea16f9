"""When an object may be written next: a change of state at once, progress at an interval. Pure.

The API server sends every write to every watcher, and each agent of a fleet is one. So progress
is written the more rarely the more nodes there are. `burst` limits a state that keeps changing.
docs/contributors/adr/0005 has the numbers.
"""

from datetime import datetime, timedelta

import msgspec

from lading.kernel import planning

Writes = tuple[datetime, ...]
"""When an object was written, oldest first: the last `WRITES_KEPT` times."""
WRITES_KEPT = 30


class Pacing(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are for objects that every agent of a fleet watches."""

    debounce_seconds: float = 0.5
    """Many nodes report close together. One reconcile serves them all."""
    nodes_unpaced: int = 10
    """With so few nodes, progress is written at once too."""
    interval_per_node: timedelta = timedelta(seconds=10)
    """Between two writes of progress, for each node above `nodes_unpaced`."""
    interval_max: timedelta = timedelta(minutes=10)
    burst: int = 12
    """The writes within `interval_max` that are made at once. Further ones are spread evenly."""

    def __post_init__(self) -> None:
        assert 0 < self.burst <= WRITES_KEPT, "a longer burst would not be remembered"

    def due_at(self, writes: Writes, *, nodes: int, state_changed: bool, now: datetime) -> datetime:
        """When the object may be written next. Not later than `now` means at once."""
        if not writes:
            return now
        due = now
        if len(writes) >= self.burst:
            due = min(
                planning.due(writes[-self.burst], self.interval_max, now=now),
                planning.due(writes[-1], self.interval_max / self.burst, now=now),
            )
        if state_changed:
            return due
        return max(due, planning.due(writes[-1], self.progress_interval(nodes), now=now))

    def first_due_at(self, created: datetime, *, nodes: int, now: datetime) -> datetime:
        """When a new object gets its first status, also if it only reports progress."""
        wait = min(self.progress_interval(nodes), self.interval_max / self.burst)
        return planning.due(created, wait, now=now)

    def progress_interval(self, nodes: int) -> timedelta:
        paced = max(0, nodes - self.nodes_unpaced)
        return min(self.interval_per_node * paced, self.interval_max)


def with_write(writes: Writes, now: datetime) -> Writes:
    return (*writes, now)[-WRITES_KEPT:]
