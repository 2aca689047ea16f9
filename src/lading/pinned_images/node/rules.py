"""The facts that the plan decides by, each a small pure function. No decisions."""

import hashlib
import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from lading.kernel import planning
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node.types import (
    Desired,
    DesiredSet,
    ObservedNodeImages,
    Problem,
    Pull,
    PullError,
    PullErrorKind,
    SetBytes,
)
from lading.pinned_images.reasons import Reason

# A passing failure, such as a registry that restarts, is progress until it happened this often.
TRANSIENT_FAILURES_MAX = 3
REMOVALS_UNREPORTED_MAX = 2
# Before these patch releases the kubelet ignored `pinned` when it collected garbage
# (kubernetes pull request 119986).
_FIRST_PATCH_BY_MINOR = {25: 14, 26: 9, 27: 6, 28: 2}
_VERSION = re.compile(r"v?1\.(?P<minor>[0-9]+)\.(?P<patch>[0-9]+)")


def wanted_images(desired: Desired) -> frozenset[ImageKey]:
    return frozenset(key for image_set in desired.sets for key in image_set.images)


def pinned_images(observed: ObservedNodeImages) -> frozenset[ImageKey]:
    """The images that the runtime reports as pinned by us, for any set."""
    in_force = {recorded.pin.image_id for recorded in observed.pins if recorded.effective}
    return frozenset(key for key, image in observed.images.items() if image.image_id in in_force)


def images_missing(image_set: DesiredSet, observed: ObservedNodeImages) -> tuple[ImageKey, ...]:
    return tuple(key for key in image_set.images if key not in observed.images)


def tags_missing(image_set: DesiredSet, observed: ObservedNodeImages) -> dict[str, ImageKey]:
    """The tags of images that are here, which mean another image or none."""
    return {
        tag: key
        for tag, key in image_set.tags.items()
        if key in observed.images and observed.tags.get(tag) != observed.images[key].image_id
    }


def tags_to_pull(desired: Desired, observed: ObservedNodeImages) -> dict[ImageKey, str]:
    """For each image the first missing tag, if the runtime makes tags only by pulling them."""
    if observed.makes_tags:
        return {}
    found: dict[ImageKey, str] = {}
    for image_set in desired.sets:
        for tag, key in tags_missing(image_set, observed).items():
            found[key] = min(tag, found.get(key, tag))
    return found


def set_is_pinned(image_set: DesiredSet, observed: ObservedNodeImages) -> bool:
    """All images are here under all their names, and are pinned for this set."""
    if tags_missing(image_set, observed):
        return False
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
    """All images are here and can be pinned, but are not pinned yet."""
    return (
        observed.node_is_well
        and not image_set.unresolvable
        and not images_missing(image_set, observed)
        and not set_is_pinned(image_set, observed)
    )


def pins_are_late(
    image_set: DesiredSet, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> bool:
    since = observed.history.unpinned_since.get(image_set.name, now)
    return now - since >= desired.settings.pinning_timeout


def why_pins_are_late(image_set: DesiredSet, observed: ObservedNodeImages) -> str:
    if observed.history.pins_delay:
        return observed.history.pins_delay
    recorded = {one.pin.image_id for one in observed.pins if image_set.name in one.pin.owners}
    unrecorded = [
        str(key) for key in image_set.images if observed.images[key].image_id not in recorded
    ]
    tags = sorted(tags_missing(image_set, observed))
    if tags and not unrecorded:
        return f"on this node, {tags[0]} does not mean the image of the set"
    named = unrecorded[0] if unrecorded else "an image"
    return f"the runtime keeps no record of the pin of {named}"


def pin_not_taken(image_set: DesiredSet, observed: ObservedNodeImages) -> str:
    """An image that we pinned and that the runtime reports as unpinned; empty if there is none."""
    if observed.history.pins_at is None:
        return ""
    for recorded in observed.pins:
        if image_set.name in recorded.pin.owners and not recorded.effective:
            return recorded.pin.image
    return ""


def pins_left_by_gate(image_set: DesiredSet, observed: ObservedNodeImages) -> frozenset[str]:
    """The IDs of images that the set still pins for runtime classes, although their gate is off."""
    of_host = {observed.images[key].image_id for key in image_set.images if key in observed.images}
    return frozenset(
        recorded.pin.image_id
        for recorded in observed.pins
        if image_set.name in recorded.pin.owners
        and recorded.pin.image_id in observed.images_kept_while_gate_is_off - of_host
    )


def pull_error(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """The last failure of the pull, if it must be reported."""
    pull = observed.pulls.get(key)
    if pull is None or pull.error is None:
        return None
    failures = pull.attempts - 1 if pull.running else pull.attempts
    return pull.error if is_reported(pull.error, failures) else None


def resolve_error(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """Why the manifest for the guests is unknown, if that must be reported."""
    failed = observed.unresolved.get(key)
    if failed is None or not manifest_is_ours_to_choose(key, observed):
        return None
    return failed.error if is_reported(failed.error, failed.attempts) else None


def is_reported(error: PullError, failures: int) -> bool:
    is_passing = error.kind in (PullErrorKind.UNAVAILABLE, PullErrorKind.OTHER)
    return not is_passing or failures >= TRANSIENT_FAILURES_MAX


def manifest_is_ours_to_choose(key: ImageKey, observed: ObservedNodeImages) -> bool:
    """A runtime that ignores handlers would pull the manifest of the host for the guests."""
    return bool(key.runtime_handler) and not observed.handlers_honoured


def guests_cannot_run(key: ImageKey, observed: ObservedNodeImages) -> PullError | None:
    """The registry has no manifest for the platform of the guests."""
    failed = observed.unresolved.get(key)
    if failed is None or not manifest_is_ours_to_choose(key, observed):
        return None
    return failed.error if failed.error.kind is PullErrorKind.NO_MATCHING_PLATFORM else None


def handler_is_unknown(key: ImageKey, handlers: Collection[str]) -> bool:
    return bool(key.runtime_handler and handlers) and key.runtime_handler not in handlers


def can_be_pulled(key: ImageKey, observed: ObservedNodeImages) -> bool:
    """True once resolved. If the runtime chooses the manifest, also if resolving failed."""
    if handler_is_unknown(key, observed.runtime_handlers):
        return False
    if key in observed.resolutions:
        return True
    return key in observed.unresolved and not manifest_is_ours_to_choose(key, observed)


def retry_at(key: ImageKey, pull: Pull, desired: Desired, now: datetime) -> datetime | None:
    """When a failed pull is retried: the delay doubles, with a jitter of each node."""
    if pull.error is None or pull.running or pull.credentials_changed:
        return None
    return _retry_at(key, pull.error, pull.attempts, desired, now)


def stalls_at(pull: Pull, desired: Desired, now: datetime) -> datetime | None:
    """When a running pull is cancelled, unless bytes arrive before."""
    if not pull.running or pull.progress_at is None:
        return None
    began = min(pull.progress_at, now)  # the clock may have been set back
    return began + desired.settings.pull_progress_timeout


def removed_image_pulled_at(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When an image is pulled again that was removed before it was pinned; the first time at once.

    The delay counts from the last pull, so an image that was here for long does not wait.
    """
    past = observed.past_pulls.get(key)
    if past is None or past.count == 1 or key in observed.images:
        return None
    jitter, retry = fraction(desired.node_name, *key), desired.settings.removed_retry
    delay = retry.delay_seconds(failures=past.count - 1, jitter=jitter)
    return planning.due(past.last_at, timedelta(seconds=delay), now=now)


def removals(key: ImageKey, observed: ObservedNodeImages) -> int:
    """How often a missing image was removed after a pull; 0 if that need not be reported."""
    past = observed.past_pulls.get(key)
    return past.count if past is not None and past.count > REMOVALS_UNREPORTED_MAX else 0


def resolve_again_at(
    key: ImageKey, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When resolving is retried; None if the image is here or did not fail."""
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


def starts_at(
    image_set: DesiredSet, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime:
    """Each node starts a new generation at its own moment of `start_spread`."""
    seen_at = observed.history.first_seen_at.get((image_set.uid, image_set.generation), now)
    share = fraction(desired.node_name, image_set.name, str(image_set.generation))
    return planning.due(seen_at, desired.settings.start_spread * share, now=now)


def fraction(*words: str) -> float:
    """A number in [0, 1): the same for the same words on every machine."""
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def bytes_to_free(pull: Pull, observed: ObservedNodeImages) -> int:
    """After a pull filled the disk: how much more must be free to try it again soon.

    It needed more than what was free when it started: that, and its compressed size. Trying at
    once would fill the disk again and again.
    """
    is_full = pull.error is not None and pull.error.kind is PullErrorKind.NO_SPACE
    if pull.running or not is_full or not pull.free_bytes_before or observed.budget is None:
        return 0
    return max(0, pull.free_bytes_before + pull.new_bytes - observed.budget.free_bytes)


def retry_without_space_at(
    key: ImageKey, pull: Pull, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> datetime | None:
    """When a pull that filled the disk is tried although no space was freed.

    Another process may have filled the disk. So it is tried, but rarely.
    """
    if pull.error is None or not bytes_to_free(pull, observed):
        return None
    jitter, retry = fraction(desired.node_name, *key), desired.settings.removed_retry
    delay = retry.delay_seconds(failures=pull.attempts, jitter=jitter)
    return planning.due(pull.error.at, timedelta(seconds=delay), now=now)


def space_is_exhausted(desired: Desired, observed: ObservedNodeImages, now: datetime) -> bool:
    """A pull filled the disk, and its retry is not due yet."""
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
    """Once for every image. Retried only while the image is missing."""
    if key in observed.resolutions:
        return False
    if key not in observed.unresolved:
        return True
    again_at = resolve_again_at(key, desired, observed, now)
    return again_at is not None and again_at <= now


def layers_present(observed: ObservedNodeImages) -> frozenset[Layer]:
    """The known layers of the images that are here."""
    return layers_of(observed.images, observed)


def layers_of(keys: Iterable[ImageKey], observed: ObservedNodeImages) -> frozenset[Layer]:
    return frozenset(
        layer
        for key in keys
        if (resolution := observed.resolutions.get(key)) is not None
        for layer in resolution.layers
    )


def mean_image_bytes(desired: Desired, observed: ObservedNodeImages) -> float:
    """The mean size of the wanted images with a known size."""
    known = wanted_images(desired) & observed.resolutions.keys()
    sizes = [observed.resolutions[key].size_bytes for key in known]
    return sum(sizes) / len(sizes) if sizes else 0.0


def bytes_of(layers: Iterable[Layer]) -> int:
    return sum(layer.size_bytes for layer in layers)


def bytes_missing(
    missing: Collection[ImageKey], observed: ObservedNodeImages, here: frozenset[Layer]
) -> int | None:
    """None if the size of an image is unknown."""
    if any(key not in observed.resolutions for key in missing):
        return None
    return bytes_of(layers_of(missing, observed) - here)


def set_bytes(
    image_set: DesiredSet, observed: ObservedNodeImages, here: frozenset[Layer]
) -> SetBytes | None:
    """None if the size of an image is unknown. `here` are the layers on the node."""
    if any(key not in observed.resolutions for key in image_set.images):
        return None
    layers = layers_of(image_set.images, observed)
    return SetBytes(total=bytes_of(layers), present=bytes_of(layers & here))


def node_problem(observed: ObservedNodeImages, node_name: str) -> Problem | None:
    """A condition of the Node that stops all pulls and pins."""
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


def pins_ignored(kubelet_version: str) -> str:
    """Why pins do not protect on this node. Empty if they do, or if the version is unknown."""
    match = _VERSION.match(kubelet_version)
    if match is None:
        return ""
    minor, patch = int(match["minor"]), int(match["patch"])
    first = _FIRST_PATCH_BY_MINOR.get(minor)
    if minor > max(_FIRST_PATCH_BY_MINOR) or (first is not None and patch >= first):
        return ""
    wanted = f"1.{minor}.{first}" if first is not None else "1.25.14"
    return (
        f"images are pinned in the runtime, but kubelet {kubelet_version} ignores pins when it "
        f"collects garbage; {wanted} and later honour them"
    )
