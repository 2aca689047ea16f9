"""Ages of images, learnt by looking: when each was first seen, and last seen in use.

Time in which nobody looked proves nothing: after a gap longer than half the maximum age, watching
starts anew, so that a node that was switched off does not wake up to images that all look old.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from lading.runtime_images.types import Ages, ImageKey, Memory, Policy

UNWATCHED_MAX = timedelta(days=1)  # a daily look counts as watching when no maximum age says more


def remember(
    memory: Memory | None,
    *,
    present: Iterable[ImageKey],
    in_use: Collection[ImageKey],
    policy: Policy,
    now: datetime,
) -> Memory:
    """The memory after one more look; images that are gone are forgotten."""
    known = {} if memory is None else memory.ages
    unbroken = memory is not None and _is_unbroken(now - memory.looked_at, policy)
    return Memory(
        watched_since=memory.watched_since if memory and unbroken else now,
        looked_at=now,
        ages={key: _ages(known.get(key), used=key in in_use, now=now) for key in present},
    )


def _is_unbroken(gap: timedelta, policy: Policy) -> bool:
    if gap < timedelta(0):  # the clock was set back, so no age can be trusted
        return False
    maximum_age = policy.maximum_age
    return gap <= (UNWATCHED_MAX if maximum_age is None else maximum_age / 2)


def _ages(known: Ages | None, *, used: bool, now: datetime) -> Ages:
    """What was noted for a later time than now was noted by a clock that has been set back."""
    known = known or Ages(first_detected=now)
    last_used = now if used else known.last_used
    return Ages(
        first_detected=min(known.first_detected, now),
        last_used=last_used and min(last_used, now),
    )


def age(memory: Memory, key: ImageKey, now: datetime) -> timedelta:
    """Since the first look that saw the image."""
    return now - memory.ages[key].first_detected


def unused_for(memory: Memory, key: ImageKey, now: datetime) -> timedelta:
    """Since the image was last seen in use, as far as somebody was watching."""
    ages = memory.ages[key]
    return now - max(ages.last_used or ages.first_detected, memory.watched_since)
