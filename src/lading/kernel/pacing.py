"""When an object may be written next. Pure.

A claim that is no longer true is withdrawn at once. Good news and progress wait: the API server
sends every write to every watcher, and each agent of a fleet is one. A state that keeps changing
is limited by its good news, because each withdrawal follows one. docs/contributors/adr/0005 has
the numbers.
"""

from datetime import datetime, timedelta
from enum import Enum, auto

import msgspec

from lading.kernel import planning


class Change(Enum):
    WITHDRAWAL = auto()
    """The last status claims what is no longer true."""
    NEWS = auto()
    """Another change of the state, such as `Ready`."""
    PROGRESS = auto()
    """Only counts and messages."""


class Pacing(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are for objects that every agent of a fleet watches."""

    debounce_seconds: float = 0.5
    """Many nodes report close together. One reconcile serves them all."""
    news_interval_per_node: timedelta = timedelta(milliseconds=10)
    nodes_unpaced: int = 10
    """With so few nodes, progress is written at once too."""
    interval_per_node: timedelta = timedelta(seconds=10)
    """Between two writes of progress, for each node above `nodes_unpaced`."""
    interval_max: timedelta = timedelta(minutes=10)

    def due_at(
        self, last: datetime | None, change: Change, *, nodes: int, now: datetime
    ) -> datetime:
        """When the object may be written next. Not later than `now` means at once."""
        if last is None or change is Change.WITHDRAWAL:
            return now
        return planning.due(last, self.interval(change, nodes), now=now)

    def interval(self, change: Change, nodes: int) -> timedelta:
        if change is Change.NEWS:
            return min(self.news_interval_per_node * nodes, self.interval_max)
        paced = max(0, nodes - self.nodes_unpaced)
        return min(self.interval_per_node * paced, self.interval_max)
