"""Garbage collection by the pair: a verdict for every image, removals in the order they happen.

The policy is the kubelet's: first what nobody used for too long, then, when the filesystem is over
the high threshold, the least recently used until it is under the low one. Pure; removes nothing.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from lading.kernel import planning
from lading.ports.cri import Image
from lading.ports.disk import Space
from lading.runtime_images import listing, rules
from lading.runtime_images import memory as memories
from lading.runtime_images.layers import LayerLedger
from lading.runtime_images.rules import Facts, Finding
from lading.runtime_images.types import (
    Decision,
    ImageKey,
    Observed,
    Policy,
    Reason,
    RemovalPlan,
    Verdict,
    key_of,
)

_NEVER = datetime.min.replace(tzinfo=UTC)


def plan(observed: Observed, policy: Policy, now: datetime) -> RemovalPlan:
    images = listing.merged(observed.images)
    facts = rules.gather(observed, images, policy, now)
    kept = rules.kept(images, facts, rules.COLLECTION)
    candidates = [image for image in images if key_of(image) not in kept]
    return RemovalPlan(
        verdicts=(*_collected(candidates, observed, facts), *kept.values()),
        whose=facts.whose,
        memory=facts.memory,
        wanted_bytes=bytes_to_free(observed.space, policy),
        recheck_at=_first_grown_up_at(kept.values(), facts),
        notes=_notes(observed),
    )


def bytes_to_free(space: Space | None, policy: Policy) -> int:
    """0 below the high threshold, else what is missing to be at the low one."""
    if space is None or used_percent(space) < policy.high_threshold_percent:
        return 0
    free_at_low_bytes = space.capacity_bytes * (100 - policy.low_threshold_percent) // 100
    return max(0, free_at_low_bytes - space.available_bytes)


def used_percent(space: Space) -> int:
    if space.capacity_bytes == 0:
        return 0
    return 100 - space.available_bytes * 100 // space.capacity_bytes


def _collected(candidates: Iterable[Image], observed: Observed, facts: Facts) -> list[Verdict]:
    """The candidates' verdicts: those that go, in their order, then those that need not."""
    ledger = LayerLedger(observed.layers)
    missing_bytes = bytes_to_free(observed.space, facts.policy)
    removed, spared = [], []
    for image in sorted(candidates, key=lambda image: _order(image, facts)):
        finding = _reason_to_remove(image, facts, missing_bytes)
        if finding is None:
            spared.append(_spared(image, observed))
            continue
        frees_bytes = ledger.take(image)
        missing_bytes -= frees_bytes
        removed.append(_verdict(image, Decision.REMOVE, finding, frees_bytes))
    return removed + spared


def _order(image: Image, facts: Facts) -> tuple[bool, datetime, datetime, ImageKey]:
    """What is too old goes first; then by last use, and what was never used by first sight."""
    key = key_of(image)
    ages = facts.memory.ages[key]
    return not _is_too_old(key, facts), ages.last_used or _NEVER, ages.first_detected, key


def _is_too_old(key: ImageKey, facts: Facts) -> bool:
    maximum = facts.policy.maximum_age
    return maximum is not None and memories.unused_for(facts.memory, key, facts.instant) > maximum


def _reason_to_remove(image: Image, facts: Facts, missing_bytes: int) -> Finding | None:
    key = key_of(image)
    if _is_too_old(key, facts):
        unused = memories.unused_for(facts.memory, key, facts.instant)
        return Reason.UNUSED_TOO_LONG, f"unused for {rules.whole_seconds(unused)}"
    if facts.policy.everything_unused:
        return Reason.UNUSED, "nobody uses it"
    if missing_bytes > 0:
        return Reason.MAKES_ROOM, "the least recently used, and space is needed"
    return None


def _spared(image: Image, observed: Observed) -> Verdict:
    if observed.space is None:
        finding = Reason.SPACE_UNKNOWN, "unused, but it is not known whether space is needed"
    else:
        finding = Reason.SPACE_SUFFICES, "unused, but the space is not needed"
    return _verdict(image, Decision.KEEP, finding, 0)


def _verdict(image: Image, decision: Decision, finding: Finding, frees_bytes: int) -> Verdict:
    reason, message = finding
    return Verdict(
        image=image, decision=decision, reason=reason, message=message, frees_bytes=frees_bytes
    )


def _first_grown_up_at(kept: Iterable[Verdict], facts: Facts) -> datetime | None:
    ages = facts.memory.ages
    return planning.earliest(
        *(
            ages[verdict.key].first_detected + facts.policy.minimum_age
            for verdict in kept
            if verdict.reason is Reason.TOO_YOUNG
        )
    )


def _notes(observed: Observed) -> tuple[str, ...]:
    space_unknown = "the filesystem of the images cannot be seen from here, so thresholds are off"
    sandbox_unknown = "the runtime does not say which image its pod sandboxes run"
    return tuple(
        note
        for note, holds in (
            (space_unknown, observed.space is None),
            (sandbox_unknown, not observed.sandbox_image),
        )
        if holds
    )
