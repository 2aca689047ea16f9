"""What a node does about a set now: which attempts run, or when it tries again. Pure."""

from collections.abc import Collection, Iterable
from datetime import datetime

from lading.kernel.images import ImageKey
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import Activity, Desired, ObservedNodeImages


def activity(
    missing: Collection[ImageKey], desired: Desired, observed: ObservedNodeImages, now: datetime
) -> Activity:
    running = [pull for key in missing if (pull := observed.pulls.get(key)) and pull.running]
    if running:
        return Activity(pulling=len(running), attempt=max(pull.attempts for pull in running))
    tries = [one for key in missing for one in _next_tries(key, desired, observed, now)]
    if not tries:
        return Activity()
    at, attempt = min(tries)
    return Activity(attempt=attempt, next_try_at=at)


def combined(activities: Iterable[Activity]) -> Activity:
    """That of the node: what runs, or the first of the next tries."""
    found = tuple(activities)
    running = [one for one in found if one.pulling]
    if running:
        return max(running, key=lambda one: one.attempt)
    waiting = [(one.next_try_at, one.attempt) for one in found if one.next_try_at is not None]
    if not waiting:
        return Activity()
    at, attempt = min(waiting)
    return Activity(attempt=attempt, next_try_at=at)


def _next_tries(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> Iterable[tuple[datetime, int]]:
    """When and for which time the image is tried again; what is due waits for a free place."""
    pull, past = observed.pulls.get(key), observed.past_pulls.get(key)
    failed = observed.unresolved.get(key)
    found = [
        (rules.retry_at(key, pull, desired, now), pull.attempts) if pull else None,
        (rules.removed_image_pulled_at(key, desired, observed, now), past.count) if past else None,
        (rules.resolve_again_at(key, desired, observed, now), failed.attempts)
        if failed and not rules.can_be_pulled(key, observed)
        else None,
    ]
    for one in found:
        if one is not None and one[0] is not None and one[0] > now:
            yield one[0], one[1] + 1
