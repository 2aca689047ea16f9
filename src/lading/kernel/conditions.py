"""Status conditions and the pure setter that keeps their promises.

`lastTransitionTime` moves only when `status` changes; `observedGeneration` is always set.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec


class Truth(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    type: str
    status: Truth
    reason: str
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


def timestamp(now: datetime) -> str:
    """An instant as Kubernetes writes `metav1.Time`: UTC, whole seconds."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_condition(
    conditions: Iterable[Condition], new: Condition, *, now: datetime
) -> tuple[Condition, ...]:
    """Returns the conditions, sorted by type, with `new` in the place of its predecessor."""
    by_type = {condition.type: condition for condition in conditions}
    old = by_type.get(new.type)
    kept_time = old.last_transition_time if old and old.status is new.status else ""
    by_type[new.type] = msgspec.structs.replace(
        new, last_transition_time=kept_time or timestamp(now)
    )
    return tuple(by_type[name] for name in sorted(by_type))


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    condition = find(conditions, type_)
    return condition is not None and condition.status is Truth.TRUE
