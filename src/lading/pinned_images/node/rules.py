"""The facts that the plan decides by, each a small pure function named after what it finds."""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from lading.kernel import planning
from lading.kernel.backoff import Backoff
from lading.pinned_images.node.types import (
    Desired,
    DesiredSet,
    FaultKind,
    ImageKey,
    Layer,
    Observed,
    Pull,
    SetState,
    Trouble,
    Verdict,
)
from lading.pinned_images.reasons import Reason

# A passing fault (a registry restarting) is reported as progress until it has lasted this often.
TRANSIENT_FAILURES_MAX = 3
RETRY = Backoff(seconds_min=5, seconds_max=320, jitter_fraction=0.25)
RESOLVE_AGAIN = timedelta(minutes=1)


def images_missing(image_set: DesiredSet, observed: Observed) -> tuple[ImageKey, ...]:
    return tuple(key for key in image_set.images if key not in observed.images)


def set_is_pinned(image_set: DesiredSet, observed: Observed) -> bool:
    """Every image is here and the runtime itself says that our pin for this set is in force."""
    in_force = {
        held.pin.image_id
        for held in observed.pins
        if held.effective and image_set.name in held.pin.owners
    }
    return all(
        key in observed.images and observed.images[key].image_id in in_force
        for key in image_set.images
    )


def pin_not_taken(image_set: DesiredSet, observed: Observed) -> str:
    """An image whose pin we wrote and the runtime does not honour; empty when there is none."""
    if observed.pins_written_at is None:
        return ""
    for held in observed.pins:
        if image_set.name in held.pin.owners and not held.effective:
            return held.pin.image
    return ""


def pull_is_a_fault(pull: Pull) -> bool:
    """Whether the last failure is one that somebody must know about."""
    if pull.fault is None:
        return False
    passing = pull.fault.kind in (FaultKind.UNAVAILABLE, FaultKind.OTHER)
    failures = pull.attempts - 1 if pull.running else pull.attempts
    return not passing or failures >= TRANSIENT_FAILURES_MAX


def retry_at(key: ImageKey, pull: Pull, node_name: str, now: datetime) -> datetime | None:
    """When a failed pull may be tried again: doubling, with a jitter of each node's own."""
    if pull.fault is None or pull.running:
        return None
    jitter = fraction(node_name, *key)
    delay = timedelta(seconds=RETRY.delay_seconds(failures=pull.attempts, jitter=jitter))
    return planning.due(pull.fault.at, delay, now=now)


def starts_at(image_set: DesiredSet, desired: Desired, now: datetime) -> datetime:
    """Each node begins a new generation at its own moment of the spread."""
    share = fraction(desired.node_name, image_set.name, str(image_set.generation))
    return planning.due(image_set.first_seen_at, desired.settings.start_spread * share, now=now)


def fraction(*words: str) -> float:
    """A number in [0, 1) that is the same for the same words, on every machine."""
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def space_is_exhausted(observed: Observed, now: datetime, node_name: str) -> bool:
    """A pull hit the end of the disk and its time to try again has not come."""
    return any(
        pull.fault is not None
        and pull.fault.kind is FaultKind.NO_SPACE
        and (retry := retry_at(key, pull, node_name, now)) is not None
        and retry > now
        for key, pull in observed.pulls.items()
    )


def resolution_is_wanted(key: ImageKey, observed: Observed, now: datetime) -> bool:
    """Asked once for every image, and again only for one that is still to be pulled."""
    if key in observed.resolutions:
        return False
    failed_at = observed.unresolved.get(key)
    if failed_at is None:
        return True
    again_at = planning.due(failed_at, RESOLVE_AGAIN, now=now)
    return key not in observed.images and again_at <= now


def layers_present(observed: Observed) -> frozenset[Layer]:
    """Layers of the images that are here, as far as we know what they are made of."""
    return layers_of(observed.images, observed)


def layers_of(keys: Iterable[ImageKey], observed: Observed) -> frozenset[Layer]:
    return frozenset(
        layer
        for key in keys
        if (resolution := observed.resolutions.get(key)) is not None
        for layer in resolution.layers
    )


def mean_image_bytes(desired: Desired, observed: Observed) -> float:
    """The mean size of the images that the node should hold, as far as sizes are known."""
    wanted = {key for image_set in desired.sets for key in image_set.images}
    sizes = [observed.resolutions[key].size_bytes for key in wanted & observed.resolutions.keys()]
    return sum(sizes) / len(sizes) if sizes else 0.0


def bytes_of(layers: Iterable[Layer]) -> int:
    return sum(layer.size_bytes for layer in layers)


def node_trouble(observed: Observed, node_name: str) -> Trouble | None:
    """What keeps the whole node from pulling and pinning."""
    if not observed.ready:
        return Trouble(
            reason=Reason.NODE_NOT_READY,
            message=f"node {node_name} is not Ready; pulling goes on when it is",
        )
    if observed.disk_pressure:
        return Trouble(
            reason=Reason.DISK_PRESSURE,
            message=f"node {node_name} reports DiskPressure; pulling goes on when it has passed",
        )
    return None


def verdict(
    image_set: DesiredSet,
    observed: Observed,
    refusals: dict[str, Trouble],
    *,
    node_name: str,
) -> Verdict:
    missing = images_missing(image_set, observed)
    troubles = tuple(_troubles(image_set, observed, missing, refusals, node_name))
    if not missing and not image_set.unresolvable:
        done = set_is_pinned(image_set, observed)
        state = SetState.PINNED if done else SetState.FAILED if troubles else SetState.PINNING
        return Verdict(desired=image_set, state=state, troubles=() if done else troubles)
    state = SetState.FAILED if troubles else SetState.PULLING
    return Verdict(desired=image_set, state=state, missing=missing, troubles=troubles)


def _troubles(
    image_set: DesiredSet,
    observed: Observed,
    missing: tuple[ImageKey, ...],
    refusals: dict[str, Trouble],
    node_name: str,
) -> Iterable[Trouble]:
    if (trouble := node_trouble(observed, node_name)) is not None:
        yield trouble
    for text in image_set.unresolvable:
        yield Trouble(reason=Reason.PREFETCH_FAILED, message=text)
    if image_set.name in refusals:
        yield refusals[image_set.name]
    for key in missing:
        pull = observed.pulls.get(key)
        if pull is not None and pull.fault is not None and pull_is_a_fault(pull):
            no_space = pull.fault.kind is FaultKind.NO_SPACE
            reason = Reason.NO_SPACE if no_space else Reason.PREFETCH_FAILED
            yield Trouble(reason=reason, message=f"failed to pull {key}: {pull.fault.message}")
    if not missing and (image := pin_not_taken(image_set, observed)):
        message = f"{image} was pinned, but the runtime does not report it as pinned"
        yield Trouble(reason=Reason.PIN_NOT_TAKEN, message=message)
    if not missing and observed.pins_error:
        message = f"all images are on the node, but pinning failed: {observed.pins_error}"
        yield Trouble(reason=Reason.PINNING_FAILED, message=message)
    if not missing and observed.cannot_pin:
        message = f"all images are on the node, but they cannot be pinned: {observed.cannot_pin}"
        yield Trouble(reason=Reason.CANNOT_PIN, message=message)
