"""Status conditions, and a pure setter that follows the rules of Kubernetes.

`lastTransitionTime` moves only when `status` changes; `observedGeneration` is always set. A message
may contain text of other systems, so its length is limited.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from lading.kernel import texts
from lading.kernel.fields import Field
from lading.kernel.objects import Model
from lading.kernel.values import replace

READY = "Ready"


class Truth(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Model, frozen=True, kw_only=True):
    """One aspect of the state of an object, as last observed."""

    type: Annotated[str, Field("The aspect that the condition describes.", max_length=316)]
    status: Annotated[Truth, Field("Whether the condition holds: True, False or Unknown.")]
    reason: Annotated[
        str,
        Field("Why the condition has its status, as one word.", max_length=1024),
    ]
    message: Annotated[str, Field("What happened, as a sentence.", max_length=32768)] = ""
    last_transition_time: Annotated[
        str, Field("When the status last changed.", format="date-time")
    ] = ""
    observed_generation: Annotated[
        int, Field("The generation of the object that the condition describes.", minimum=0)
    ] = 0


def timestamp(now: datetime) -> str:
    """An instant as Kubernetes writes `metav1.Time`: UTC, whole seconds."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(text: str) -> datetime | None:
    """Parses a timestamp; None if it is invalid or has no time zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def micro_timestamp(now: datetime) -> str:
    """An instant as Kubernetes writes `metav1.MicroTime`."""
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def with_condition(
    conditions: Iterable[Condition], new: Condition, *, now: datetime
) -> tuple[Condition, ...]:
    """Returns the conditions, sorted by type, with `new` instead of the old one of its type."""
    by_type = {condition.type: condition for condition in conditions}
    old = by_type.get(new.type)
    kept_time = old.last_transition_time if old and old.status is new.status else ""
    by_type[new.type] = replace(
        new,
        message=texts.bounded_text(new.message),
        last_transition_time=kept_time or timestamp(now),
    )
    return tuple(by_type[name] for name in sorted(by_type))


def with_conditions(
    conditions: Iterable[Condition], new: Iterable[Condition], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """The same for several conditions about one generation of the object."""
    found = tuple(conditions)
    for condition in new:
        about = replace(condition, observed_generation=generation)
        found = with_condition(found, about, now=now)
    return found


def changed(before: Iterable[Condition], after: Iterable[Condition]) -> Iterator[Condition]:
    """The conditions that became true, and those that are no longer true."""
    was_true = {one.type for one in before if one.status is Truth.TRUE}
    return (one for one in after if (one.status is Truth.TRUE) is not (one.type in was_true))


def withdrawn(before: Iterable[Condition], after: Iterable[Condition]) -> bool:
    """A condition lost its good status: True for `Ready`, False for those that report trouble."""
    statuses = {one.type: one.status for one in after}
    return any(
        one.status is (Truth.TRUE if one.type == READY else Truth.FALSE)
        and statuses.get(one.type) is not one.status
        for one in before
    )


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    condition = find(conditions, type_)
    return condition is not None and condition.status is Truth.TRUE
