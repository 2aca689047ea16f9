"""Plans garbage collection: a verdict for every image, and the removals in their order. Pure.

The policy is the kubelet's. First go the images that were unused for too long. Then, if the file
system is above the high threshold, go the least recently used until it is below the low one.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from lading.kernel import planning
from lading.ports.cri import Image
from lading.ports.node import Space
from lading.runtime_images import images, rules
from lading.runtime_images.gc_types import (
    GcDecision,
    GcPlan,
    GcPolicy,
    GcReason,
    ImageVerdict,
    ObservedImages,
    RemoveImage,
    WriteImageRecords,
)
from lading.runtime_images.rules import Finding, GcFacts
from lading.runtime_images.types import LocalImageId, local_id
from lading.runtime_images.usage import LayerCounter

_NEVER = datetime.min.replace(tzinfo=UTC)


def plan(observed: ObservedImages, policy: GcPolicy, now: datetime) -> GcPlan:
    listed = images.merged(observed.images)
    facts = rules.gather(observed, listed, policy, now)
    kept = rules.kept(listed, facts, rules.COLLECTION)
    candidates = [image for image in listed if local_id(image) not in kept]
    removed, spared = _collected(candidates, observed, facts)
    return GcPlan(
        actions=(
            *(RemoveImage(image=one.image, because=one.message) for one in removed),
            WriteImageRecords(records=facts.records),
        ),
        recheck_at=now + policy.period,
        planned_at=now,
        policy=policy,
        verdicts=(*removed, *spared, *kept.values()),
        handlers=facts.handlers,
        wanted_bytes=bytes_to_free(observed.space, policy),
        used_percent=None if observed.space is None else used_percent(observed.space),
        first_old_enough_at=_first_old_enough_at(kept.values(), facts),
        space_is_known=observed.space is not None,
        sandbox_image_is_known=bool(observed.sandbox_image),
    )


def bytes_to_free(space: Space | None, policy: GcPolicy) -> int:
    """0 below the high threshold; otherwise the bytes above the low threshold."""
    if space is None or used_percent(space) < policy.high_threshold_percent:
        return 0
    free_at_low_bytes = space.capacity_bytes * (100 - policy.low_threshold_percent) // 100
    return max(0, free_at_low_bytes - space.available_bytes)


def used_percent(space: Space) -> int:
    if space.capacity_bytes == 0:
        return 0
    return 100 - space.available_bytes * 100 // space.capacity_bytes


def _collected(
    candidates: Iterable[Image], observed: ObservedImages, facts: GcFacts
) -> tuple[list[ImageVerdict], list[ImageVerdict]]:
    """The verdicts of the candidates: the removed ones in their order, and the others."""
    counter = LayerCounter(observed.layers)
    missing_bytes = bytes_to_free(observed.space, facts.policy)
    removed, spared = [], []
    for image in sorted(candidates, key=lambda image: _order(image, facts)):
        finding = _reason_to_remove(image, facts, missing_bytes)
        if finding is None:
            spared.append(_spared(image, observed))
            continue
        frees_bytes = counter.take(image)
        missing_bytes -= frees_bytes
        removed.append(_verdict(image, GcDecision.REMOVE, finding, frees_bytes))
    return removed, spared


def _order(image: Image, facts: GcFacts) -> tuple[bool, datetime, datetime, LocalImageId]:
    """Images that are too old first; then by last use; unused ones by first detection."""
    one = local_id(image)
    record = facts.records.by_image[one]
    return not _is_too_old(one, facts), record.last_used or _NEVER, record.first_detected, one


def _is_too_old(image: LocalImageId, facts: GcFacts) -> bool:
    maximum = facts.policy.maximum_age
    return maximum is not None and facts.records.unused_for(image, facts.instant) > maximum


def _reason_to_remove(image: Image, facts: GcFacts, missing_bytes: int) -> Finding | None:
    one = local_id(image)
    if _is_too_old(one, facts):
        unused = facts.records.unused_for(one, facts.instant)
        return GcReason.UNUSED_TOO_LONG, f"unused for {rules.whole_seconds(unused)}"
    if facts.policy.everything_unused:
        return GcReason.UNUSED, "no container uses it"
    if missing_bytes > 0:
        return GcReason.MAKES_ROOM, "the least recently used, and space is needed"
    return None


def _spared(image: Image, observed: ObservedImages) -> ImageVerdict:
    if observed.space is None:
        finding = GcReason.SPACE_UNKNOWN, "unused, but it is not known whether space is needed"
    else:
        finding = GcReason.SPACE_SUFFICES, "unused, but the space is not needed"
    return _verdict(image, GcDecision.KEEP, finding, 0)


def _verdict(
    image: Image, decision: GcDecision, finding: Finding, frees_bytes: int
) -> ImageVerdict:
    reason, message = finding
    return ImageVerdict(
        image=image, decision=decision, reason=reason, message=message, frees_bytes=frees_bytes
    )


def _first_old_enough_at(kept: Iterable[ImageVerdict], facts: GcFacts) -> datetime | None:
    return planning.earliest(
        *(
            facts.records.by_image[verdict.local_id].first_detected + facts.policy.minimum_age
            for verdict in kept
            if verdict.reason is GcReason.TOO_YOUNG
        )
    )
