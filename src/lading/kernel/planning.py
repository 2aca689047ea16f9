"""The value that a plan is: what to do, why, what to report, and when to look again.

A plan is computed once by a pure function and read by apply, `--dry-run`, events, logs, golden
files and the simulator. The next observation shows what an action did.
"""

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Protocol

import msgspec


class Action(Protocol):
    """A command: idempotent, named as a verb phrase, and it knows why it is there.

    Actions of one lane run in order and a failed precondition drops the rest of that lane;
    lanes are independent of each other.
    """

    @property
    def because(self) -> str: ...

    @property
    def lane(self) -> Hashable: ...


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    actions: tuple[Action, ...] = ()
    recheck_at: datetime | None = None

    def lanes(self) -> dict[Hashable, tuple[Action, ...]]:
        """The actions by lane, in the order in which the plan holds them."""
        lanes: dict[Hashable, tuple[Action, ...]] = {}
        for action in self.actions:
            lanes[action.lane] = (*lanes.get(action.lane, ()), action)
        return lanes


def due(since: datetime, delay: timedelta, *, now: datetime) -> datetime:
    """When so long will have passed; now, if the clock was set back since."""
    return now if since > now else since + delay


def earliest(*instants: datetime | None) -> datetime | None:
    """The first of the instants that exist."""
    return min((instant for instant in instants if instant is not None), default=None)
