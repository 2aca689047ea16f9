"""The facts that the plan decides by, each a small pure function named after what it finds."""

import hashlib
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from lading.kernel import durations, planning
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node import earlier_errors
from lading.pinned_images.node.types import (
    Activity,
    Desired,
    DesiredSet,
    ImageCounts,
    ObservedNodeImages,
    Problem,
    Pull,
    PullError,
    PullErrorKind,
    SetBytes,
    SetVerdict,
)
from lading.pinned_images.progress import SetState
from lading.pinned_images.reasons import Reason

# A passing failure (a registry restarting) is progress until it has happened this often.
TRANSIENT_FAILURES_MAX = 3
REMOVALS_UNREPORTED_MAX = 2


def images_missing(image_set: DesiredSet, observed: ObservedNodeImages) -> tuple[ImageKey, ...]:
    return tuple(key for key in image_set.images if key not in observed.images)


def set_is_pinned(image_set: DesiredSet, observed: ObservedNodeImages) -> bool:
    """Every image is here and the runtime itself reports our pin for this set as in force."""
    in_force = {
        recorded.pin.image_id
        for recorded in observed.pins
        if recorded.effective and image_set.name in recorded.pin.owners
    }
    return all(
        key in observed.images and observed.images[key].image_id in in_force
        for key in image_set.images
    )


def set_waits_for_pins(image_set: DesiredSet, observed: ObservedNodeImages) -> bool:
    """Everything is here, and could be pinned."""
    return (
        observed.node_is_well
        and not image_set.unresolvable
        and not images_missing(image_set, observed)
        and not set_is_pinned(image_set, observed)
    )


def pins_are_late(image_set: DesiredSet, desired: Desired, observed: ObservedNodeImages) -> bool:
    unpinned_for = observed.unpinned_for.get(image_set.name, timedelta(0))
    return unpinned_for >= desired.settings.pinning_timeout


def why_pins_are_late(image_set: DesiredSet, observed: ObservedNodeImages) -> str:
    if observed.pins_delay:
        return observed.pins_delay
    recorded = {one.pin.image_id for one in observed.pins if image_set.name in one.pin.owners}
    unrecorded = [
        str(key) for key in image_set.images if observed.images[key].image_id not in recorded
    ]
    named = unrecorded[0] if unrecorded else "an image"
    return f"the runtime keeps no record of the pin of {named}"


def pin_not_taken(image_set: DesiredSet, observed: ObservedNodeImages) -> str:
    """An image that we pinned and the runtime reports as unpinned; empty when there is none."""
    if observed.pins_written_at is None:
        return ""
    for recorded in observed.pins:
        if image_set.name in recorded.pin.owners and not recorded.effective:
            return recorded.pin.image
    return ""


def pins_left_by_gate(image_set: DesiredSet, observed: ObservedNodeImages) -> frozenset[str]:
    """The IDs of images that the set pins for runtime classes only, although their gate is off."""
    of_host = {observed.images[key].image_id for key in image_set.images if key in observed.images}
    return frozenset(
        recorded.pin.image_id
        for recorded in observed.pins
        if image_set.name in recorded.pin.owners
        and recorded.pin.image_id in observed.left_by_gate - of_host
    )


def pull_error(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """The last failure of a pull, if it is one that must be reported."""
    pull = observed.pulls.get(key)
    if pull is None or pull.error is None:
        return None
    failures = pull.attempts - 1 if pull.running else pull.attempts
    return pull.error if is_reported(pull.error, failures) else None


def resolve_error(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """Why the manifest that we must choose ourselves is not known, if that must be reported."""
    failed = observed.unresolved.get(key)
    if failed is None or not manifest_is_ours_to_choose(key, observed):
        return None
    return failed.error if is_reported(failed.error, failed.attempts) else None


def is_reported(error: PullError, failures: int) -> bool:
    is_passing = error.kind in (PullErrorKind.UNAVAILABLE, PullErrorKind.OTHER)
    return not is_passing or failures >= TRANSIENT_FAILURES_MAX


def manifest_is_ours_to_choose(key: ImageKey, observed: ObservedNodeImages) -> bool:
    """A runtime that ignores handlers would take the host's manifest for the guests."""
    return bool(key.runtime_handler) and not observed.handlers_honoured


def guests_cannot_run(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """The registry has no manifest for the platform of the guests."""
    failed = observed.unresolved.get(key)
    if failed is None or not manifest_is_ours_to_choose(key, observed):
        return None
    return failed.error if failed.error.kind is PullErrorKind.NO_MATCHING_PLATFORM else None


def can_be_pulled(key: ImageKey, observed: ObservedNodeImages) -> bool:
    """Once it is resolved; where the runtime chooses the manifest, also when that failed."""
    if key in observed.resolutions:
        return True
    return key in observed.unresolved and not manifest_is_ours_to_choose(key, observed)


def retry_at(key: ImageKey, pull: Pull, desired: Desired, now: datetime) -> datetime | None:
    """When a failed pull may be tried again: doubling, with a jitter of each node's own."""
    if pull.error is None or pull.running or pull.credentials_changed:
        return None
    return _retry_at(key, pull.error, pull.attempts, desired, now)


def credentials_seen_at(
    desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When to look whether there is a new credential for a pull that was refused."""
    refused = any(
        pull.error is not None and pull.error.kind is PullErrorKind.UNAUTHORIZED
        for pull in observed.pulls.values()
    )
    return now + desired.settings.credentials_interval if refused else None


def stalls_at(pull: Pull, desired: Desired, now: datetime) -> datetime | None:
    """When a running pull is given up unless bytes arrive before."""
    if not pull.running or pull.progress_at is None:
        return None
    began = min(pull.progress_at, now)  # the clock may have been set back
    return began + desired.settings.pull_progress_timeout


def removed_image_pulled_at(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When an image is pulled again that was removed before it was pinned; the first time at once.

    It is counted from the last pull, so an image that stayed for long does not wait.
    """
    past = observed.past_pulls.get(key)
    if past is None or past.count == 1 or key in observed.images:
        return None
    jitter, retry = fraction(desired.node_name, *key), desired.settings.removed_retry
    delay = retry.delay_seconds(failures=past.count - 1, jitter=jitter)
    return planning.due(past.last_at, timedelta(seconds=delay), now=now)


def removals(key: ImageKey, observed: ObservedNodeImages) -> int:
    """How often a missing image was removed after a pull, if that must be reported; else 0."""
    past = observed.past_pulls.get(key)
    return past.count if past is not None and past.count > REMOVALS_UNREPORTED_MAX else 0


def resolve_again_at(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When an image that could not be resolved is resolved again; only while it is missing."""
    failed = observed.unresolved.get(key)
    if failed is None or key in observed.images:
        return None
    return _retry_at(key, failed.error, failed.attempts, desired, now)


def _retry_at(
    key: ImageKey, error: PullError, attempts: int, desired: Desired, now: datetime
) -> datetime:
    jitter, retry = fraction(desired.node_name, *key), desired.settings.pull_retry
    delay = timedelta(seconds=retry.delay_seconds(failures=attempts, jitter=jitter))
    return planning.due(error.at, delay, now=now)


def starts_at(image_set: DesiredSet, desired: Desired, now: datetime) -> datetime:
    """Each node begins a new generation at its own moment of the spread."""
    share = fraction(desired.node_name, image_set.name, str(image_set.generation))
    return planning.due(image_set.first_seen_at, desired.settings.start_spread * share, now=now)


def fraction(*words: str) -> float:
    """A number in [0, 1) that is the same for the same words, on every machine."""
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def space_is_exhausted(desired: Desired, observed: ObservedNodeImages, now: datetime) -> bool:
    """A pull hit the end of the disk and its time to try again has not come."""
    return any(
        pull.error is not None
        and pull.error.kind is PullErrorKind.NO_SPACE
        and (retry := retry_at(key, pull, desired, now)) is not None
        and retry > now
        for key, pull in observed.pulls.items()
    )


def resolution_is_wanted(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> bool:
    """Once for every image, and again only for one that is still to be pulled."""
    if key in observed.resolutions:
        return False
    if key not in observed.unresolved:
        return True
    again_at = resolve_again_at(key, desired, observed, now)
    return again_at is not None and again_at <= now


def layers_present(observed: ObservedNodeImages) -> frozenset[Layer]:
    """Layers of the images that are here, as far as we know what they are made of."""
    return layers_of(observed.images, observed)


def layers_of(keys: Iterable[ImageKey], observed: ObservedNodeImages) -> frozenset[Layer]:
    return frozenset(
        layer
        for key in keys
        if (resolution := observed.resolutions.get(key)) is not None
        for layer in resolution.layers
    )


def mean_image_bytes(desired: Desired, observed: ObservedNodeImages) -> float:
    """The mean size of the images that the node should have, as far as sizes are known."""
    wanted = {key for image_set in desired.sets for key in image_set.images}
    sizes = [observed.resolutions[key].size_bytes for key in wanted & observed.resolutions.keys()]
    return sum(sizes) / len(sizes) if sizes else 0.0


def bytes_of(layers: Iterable[Layer]) -> int:
    return sum(layer.size_bytes for layer in layers)


def bytes_missing(
    missing: Collection[ImageKey], observed: ObservedNodeImages, here: frozenset[Layer]
) -> int | None:
    """None when the size of an image is not known."""
    if any(key not in observed.resolutions for key in missing):
        return None
    return bytes_of(layers_of(missing, observed) - here)


def set_bytes(
    image_set: DesiredSet, observed: ObservedNodeImages, here: frozenset[Layer]
) -> SetBytes | None:
    """None when the size of an image is not known; `here` are the layers on the node."""
    if any(key not in observed.resolutions for key in image_set.images):
        return None
    layers = layers_of(image_set.images, observed)
    return SetBytes(total=bytes_of(layers), present=bytes_of(layers & here))


def counts(
    sets: Iterable[DesiredSet], observed: ObservedNodeImages, activity: Activity
) -> ImageCounts:
    """`activity` is that of the whole node."""
    wanted = {key for image_set in sets for key in image_set.images}
    missing = wanted - observed.images.keys()
    here = layers_present(observed) if missing else frozenset()
    return ImageCounts(
        wanted=len(wanted),
        present=len(wanted) - len(missing),
        pulling=sum(pull.running for pull in observed.pulls.values()),
        wanted_bytes=bytes_of(layers_of(wanted, observed)),
        missing_bytes=bytes_missing(missing, observed, here),
        activity=activity,
    )


def node_problem(observed: ObservedNodeImages, node_name: str) -> Problem | None:
    """What keeps the whole node from pulling and pinning."""
    if not observed.ready:
        return Problem(
            reason=Reason.NODE_NOT_READY,
            message=f"node {node_name} is not Ready; images are pulled when it is Ready again",
        )
    if observed.disk_pressure:
        return Problem(
            reason=Reason.DISK_PRESSURE,
            message=f"node {node_name} reports DiskPressure; images are pulled when it ends",
        )
    return None


def verdict(
    image_set: DesiredSet,
    desired: Desired,
    observed: ObservedNodeImages,
    refusals: dict[str, Problem],
    *,
    here: frozenset[Layer],
) -> SetVerdict:
    """`here` are the layers of the images that are on the node."""
    missing = images_missing(image_set, observed)
    problems = tuple(_problems(image_set, desired, observed, missing, refusals))
    if not missing and not image_set.unresolvable:
        done = set_is_pinned(image_set, observed)
        state = SetState.PINNED if done else SetState.FAILED if problems else SetState.PINNING
        return SetVerdict(desired=image_set, state=state, problems=() if done else problems)
    return SetVerdict(
        desired=image_set,
        state=SetState.FAILED if problems else SetState.PULLING,
        missing=missing,
        missing_bytes=bytes_missing(missing, observed, here),
        problems=problems,
    )


def _problems(
    image_set: DesiredSet,
    desired: Desired,
    observed: ObservedNodeImages,
    missing: tuple[ImageKey, ...],
    refusals: dict[str, Problem],
) -> Iterable[Problem]:
    if (problem := node_problem(observed, desired.node_name)) is not None:
        yield problem
    for text in image_set.unresolvable:
        yield Problem(reason=Reason.PREFETCH_FAILED, message=text)
    if image_set.name in refusals:
        yield refusals[image_set.name]
    earlier = earlier_errors.earlier_errors(image_set, missing, observed)
    for key in missing:
        error = pull_error(key, observed)
        if error is None and key in earlier:
            yield earlier[key]
        elif error is not None:
            no_space = error.kind is PullErrorKind.NO_SPACE
            reason = Reason.NO_SPACE if no_space else Reason.PREFETCH_FAILED
            message = f"failed to pull {key}: {error.message}"
            yield Problem(reason=reason, message=message, image=str(key))
        elif (error := resolve_error(key, observed)) is not None:
            message = f"failed to resolve {key}: {error.message}"
            yield Problem(reason=Reason.PREFETCH_FAILED, message=message, image=str(key))
        elif count := removals(key, observed):
            message = f"{key} was pulled {count} times, and removed before its set was complete"
            yield Problem(reason=Reason.IMAGE_REMOVED, message=message, image=str(key))
    image = "" if missing else pin_not_taken(image_set, observed)
    if image:
        message = f"{image} was pinned, but the runtime does not report it as pinned"
        yield Problem(reason=Reason.PIN_NOT_TAKEN, message=message, image=image)
    if not missing and observed.pins_error:
        message = f"all images are on the node, but pinning failed: {observed.pins_error}"
        yield Problem(reason=Reason.PINNING_FAILED, message=message)
    if not missing and observed.cannot_pin:
        message = f"all images are on the node, but they cannot be pinned: {observed.cannot_pin}"
        yield Problem(reason=Reason.CANNOT_PIN, message=message)
    elif pins_are_late(image_set, desired, observed) and not observed.pins_error and not image:
        cause = why_pins_are_late(image_set, observed)
        after = durations.format_duration(desired.settings.pinning_timeout)
        message = f"all images are on the node, but they are not pinned after {after}: {cause}"
        yield Problem(reason=Reason.PINNING_FAILED, message=message)
