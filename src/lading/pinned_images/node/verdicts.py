"""The verdict on each set: its state, its problems, and what the node does about it. Pure."""

from collections.abc import Collection, Iterable
from datetime import datetime

from lading.kernel import conditions, durations, quantities
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import (
    Activity,
    Desired,
    DesiredSet,
    ImageCounts,
    ObservedNodeImages,
    Problem,
    PullErrorKind,
    SetVerdict,
)
from lading.pinned_images.reasons import ConditionType, Reason
from lading.pinned_images.types import SetState


def verdicts(
    desired: Desired, observed: ObservedNodeImages, refusals: dict[str, Problem], now: datetime
) -> tuple[SetVerdict, ...]:
    is_complete = rules.wanted_images(desired) <= observed.images.keys()
    here = frozenset() if is_complete else rules.layers_present(observed)
    return tuple(verdict(one, desired, observed, refusals, now, here=here) for one in desired.sets)


def verdict(
    image_set: DesiredSet,
    desired: Desired,
    observed: ObservedNodeImages,
    refusals: dict[str, Problem],
    now: datetime,
    *,
    here: frozenset[Layer],
) -> SetVerdict:
    """`here` are the layers of the images that are on the node."""
    missing = rules.images_missing(image_set, observed)
    problems = tuple(_problems(image_set, desired, observed, missing, refusals, now))
    if not missing and not image_set.unresolvable:
        done = rules.set_is_pinned(image_set, observed)
        state = SetState.PINNED if done else SetState.FAILED if problems else SetState.PINNING
        return SetVerdict(desired=image_set, state=state, problems=() if done else problems)
    return SetVerdict(
        desired=image_set,
        state=SetState.FAILED if problems else SetState.PULLING,
        missing=missing,
        missing_bytes=rules.bytes_missing(missing, observed, here),
        problems=problems,
        activity=_activity(missing, desired, observed, now),
    )


def _problems(
    image_set: DesiredSet,
    desired: Desired,
    observed: ObservedNodeImages,
    missing: tuple[ImageKey, ...],
    refusals: dict[str, Problem],
    now: datetime,
) -> Iterable[Problem]:
    if (problem := rules.node_problem(observed, desired.node_name)) is not None:
        yield problem
    for text in image_set.unresolvable:
        yield Problem(reason=Reason.PREFETCH_FAILED, message=text)
    if image_set.name in refusals:
        yield refusals[image_set.name]
    earlier = _earlier_errors(image_set, missing, observed)
    untagged = () if observed.makes_tags else rules.tags_missing(image_set, observed).values()
    for key in dict.fromkeys((*missing, *untagged)):
        error = rules.pull_error(key, observed)
        if rules.handler_is_unknown(key, observed.runtime_handlers):
            known = ", ".join(sorted(filter(None, observed.runtime_handlers))) or "no other"
            message = f"{key}: the container runtime has no such handler; it has: {known}"
            yield Problem(reason=Reason.UNKNOWN_HANDLER, message=message, image=str(key))
        elif error is None and key in earlier:
            yield earlier[key]
        elif error is not None:
            no_space = error.kind is PullErrorKind.NO_SPACE
            reason = Reason.NO_SPACE if no_space else Reason.PREFETCH_FAILED
            message = f"failed to pull {key}: {error.message}"
            pull = observed.pulls.get(key)
            if pull is not None and (more := rules.bytes_to_free(pull, observed)):
                wanted = quantities.format_bytes(more)
                message += f"; it is pulled again when {wanted} more is free, or after a pause"
            yield Problem(reason=reason, message=message, image=str(key))
        elif (error := rules.resolve_error(key, observed)) is not None:
            message = f"failed to resolve {key}: {error.message}"
            yield Problem(reason=Reason.PREFETCH_FAILED, message=message, image=str(key))
        elif count := rules.removals(key, observed):
            message = f"{key} was pulled {count} times, and removed before its set was complete"
            yield Problem(reason=Reason.IMAGE_REMOVED, message=message, image=str(key))
    image = "" if missing else rules.pin_not_taken(image_set, observed)
    if image:
        message = f"{image} was pinned, but the runtime does not report it as pinned"
        yield Problem(reason=Reason.PIN_NOT_TAKEN, message=message, image=image)
    if not missing and observed.history.pins_error:
        message = f"all images are on the node, but pinning failed: {observed.history.pins_error}"
        yield Problem(reason=Reason.PINNING_FAILED, message=message)
    is_late = rules.pins_are_late(image_set, desired, observed, now)
    if not missing and observed.cannot_pin:
        message = f"all images are on the node, but they cannot be pinned: {observed.cannot_pin}"
        yield Problem(reason=Reason.CANNOT_PIN, message=message)
    elif is_late and not observed.history.pins_error and not image:
        cause = rules.why_pins_are_late(image_set, observed)
        after = durations.format_duration(desired.settings.pinning_timeout)
        message = f"all images are on the node, but they are not pinned after {after}: {cause}"
        yield Problem(reason=Reason.PINNING_FAILED, message=message)


def _earlier_errors(
    image_set: DesiredSet, missing: Collection[ImageKey], observed: ObservedNodeImages
) -> dict[ImageKey, Problem]:
    """The errors that this agent reported before a restart, by image.

    The ledger of pulls is lost with the process. An error stands until the image is here, or a
    pull of this process succeeded or failed.
    """
    errors = _last_errors(image_set, observed)
    if not errors:
        return {}
    return {
        key: Problem(reason=_reason_of(error, observed), message=error, image=str(key))
        for key in missing
        if key not in observed.past_pulls
        for error in errors
        if _is_about(error, key)
    }


def _last_errors(image_set: DesiredSet, observed: ObservedNodeImages) -> tuple[str, ...]:
    last = observed.last_status
    if not conditions.is_true(last.conditions, ConditionType.SETS_DEGRADED):
        return ()
    for entry in last.pinned_image_sets:
        if (entry.name, entry.uid) == (image_set.name, image_set.uid):
            is_same = entry.last_failed_generation == image_set.generation
            return entry.last_failed_generation_errors if is_same else ()
    return ()


def _is_about(error: str, key: ImageKey) -> bool:
    return f" {key}: " in error or error.startswith(f"{key} ")


def _reason_of(error: str, observed: ObservedNodeImages) -> Reason:
    """The condition has the reason of the worst error only, and quotes that error."""
    degraded = conditions.find(observed.last_status.conditions, ConditionType.SETS_DEGRADED)
    if degraded is None or degraded.reason != Reason.NO_SPACE or error not in degraded.message:
        return Reason.PREFETCH_FAILED
    return Reason.NO_SPACE


def _activity(
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
    """The activity of the node: its running pulls, or the earliest of the next tries."""
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
    """When the image is tried again, and the number of that attempt."""
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


def counts(
    sets: Iterable[DesiredSet], observed: ObservedNodeImages, activity: Activity
) -> ImageCounts:
    """`activity` is that of the whole node."""
    wanted = {key for image_set in sets for key in image_set.images}
    missing = wanted - observed.images.keys()
    here = rules.layers_present(observed) if missing else frozenset()
    return ImageCounts(
        wanted=len(wanted),
        present=len(wanted) - len(missing),
        pulling=sum(pull.running for pull in observed.pulls.values()),
        wanted_bytes=rules.bytes_of(rules.layers_of(wanted, observed)),
        missing_bytes=rules.bytes_missing(missing, observed, here),
        activity=activity,
    )
