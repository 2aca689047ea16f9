"""A plan as a value: the actions, their reasons, the reports, and the time of the next look.

A pure function computes a plan. Apply, `--dry-run`, events, logs and golden files read it. The
next observation shows the effect of an action.
"""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from lading.kernel.objects import Object


class Action(Protocol):
    """An idempotent command with a reason, named as a verb phrase.

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


class RecordEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event about the reconciled object.

    It shares the lane of the status: if the status cannot be written, the event waits too.
    Otherwise every retry would record it again.
    """

    reason: StrEnum
    because: str
    """The note of the event."""
    warning: bool = False
    lane: Hashable = "status"


class LastWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The last write of this process to an object. `observe` shows it to the plan."""

    body: Mapping[str, Any] | None
    """None for a deletion."""
    at: datetime
    answer: Object | None = None
    """What the API server returned for the last write that it accepted."""
    refusal: str = ""
    """The error of the API server, if it refused this write."""


def due(since: datetime, delay: timedelta, *, now: datetime) -> datetime:
    """When that much time has passed; now if the clock was set back since."""
    return now if since > now else since + delay


def earliest(*instants: datetime | None) -> datetime | None:
    """The first of the instants that exist."""
    return min((instant for instant in instants if instant is not None), default=None)
