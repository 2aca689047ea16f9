"""How much of the disk may be used, and which sets fit on it. Pure.

Above the threshold of image garbage collection the kubelet removes images, and below the eviction
limit it evicts pods. Preloading must cause neither. At least the reserve of a kubelet with default
settings stays free.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import Budget, Desired, ObservedNodeImages, Problem
from lading.pinned_images.reasons import Reason
from lading.ports.node import KubeletLimits, Space

RESERVE_PERCENT_MIN = 100 - KubeletLimits().image_gc_high_threshold_percent
_SIGNALS = ("imagefs.available", "nodefs.available")


def budget(space: Space, limits: KubeletLimits) -> Budget:
    percent = 100 - limits.image_gc_high_threshold_percent
    collection = (
        "the kubelet's image garbage collection, which starts at "
        f"{limits.image_gc_high_threshold_percent}% disk usage"
    )
    reserves = {collection: space.capacity_bytes * percent // 100}
    for signal in _SIGNALS:
        if signal in limits.eviction_hard:
            text = limits.eviction_hard[signal]
            reserve = _threshold_bytes(text, space.capacity_bytes)
            reserves[f"the kubelet's eviction limit {signal}<{text}"] = reserve
    least = space.capacity_bytes * RESERVE_PERCENT_MIN // 100
    reserves[f"the agent's reserve of {RESERVE_PERCENT_MIN}%"] = least
    reason = max(reserves, key=lambda why: reserves[why])
    return Budget(
        capacity_bytes=space.capacity_bytes,
        free_bytes=space.available_bytes,
        reserve_bytes=reserves[reason],
        reserve_reason=reason,
    )


def _threshold_bytes(text: str, capacity_bytes: int) -> int:
    try:
        if text.endswith("%"):
            return int(capacity_bytes * quantities.parse(text[:-1]) / 100)
        return quantities.parse_bytes(text)
    except Malformed:
        return 0  # a kubelet with such a limit does not start


def admit_by_storage(
    desired: Desired, observed: ObservedNodeImages
) -> tuple[frozenset[ImageKey], dict[str, Problem]]:
    """The missing images that may be pulled, and the sets that do not fit as a whole.

    It is unknown how much of its space a running pull has already taken. So it counts in full
    for new pulls, and not at all for refusals.
    """
    here = rules.layers_present(observed)
    running = (key for key, pull in observed.pulls.items() if pull.running)
    incoming = rules.layers_of(running, observed) - here
    factor = desired.settings.expansion_factor
    needs = _needs(desired, observed, here | incoming)
    unchecked = _unchecked(needs, observed) if desired.settings.require_disk_check else {}
    needs = [need for need in needs if need.set_name not in unchecked]
    admitted, refusals = _admit(needs, observed, rules.bytes_of(incoming), factor)
    if incoming:
        _, refusals = _admit(needs, observed, 0, factor)
    return admitted, refusals | unchecked


class _Need(NamedTuple):
    """The missing part of a set. Small ones come first, so that a large set does not block them."""

    size_bytes: int
    set_name: str
    missing: tuple[ImageKey, ...]
    layers: frozenset[Layer]


def _needs(desired: Desired, observed: ObservedNodeImages, known: frozenset[Layer]) -> list[_Need]:
    needs = []
    for image_set in desired.sets:
        missing = rules.images_missing(image_set, observed)
        layers = rules.layers_of(missing, observed) - known
        needs.append(_Need(rules.bytes_of(layers), image_set.name, missing, layers))
    return sorted(needs, key=lambda need: (need.size_bytes, need.set_name))


def _unchecked(needs: Iterable[_Need], observed: ObservedNodeImages) -> dict[str, Problem]:
    """The sets with missing images that may not fit, because a size is unknown."""
    found = {}
    for need in needs:
        sizeless = [key for key in need.missing if key in observed.unresolved]
        why = observed.disk_unchecked
        if not why and sizeless:
            error = observed.unresolved[sizeless[0]].error.message
            why = f"the size of {sizeless[0]} is not known: {error}"
        if need.missing and why:
            message = f"nothing is pulled without a check of the free space: {why}"
            found[need.set_name] = Problem(reason=Reason.DISK_NOT_CHECKED, message=message)
    return found


def _admit(
    needs: Iterable[_Need], observed: ObservedNodeImages, taken_bytes: int, factor: float
) -> tuple[frozenset[ImageKey], dict[str, Problem]]:
    """Each layer counts once over all sets. `taken_bytes` are in use already."""
    counted: set[Layer] = set()
    admitted: set[ImageKey] = set()
    refusals: dict[str, Problem] = {}
    for need in needs:
        new_layers = need.layers - counted
        needed_bytes = taken_bytes + rules.bytes_of(new_layers)
        refusal = _refusal(needed_bytes=needed_bytes, observed=observed, factor=factor)
        if refusal is not None and new_layers:
            refusals[need.set_name] = refusal
            continue
        taken_bytes = needed_bytes
        counted |= new_layers
        admitted.update(need.missing)
    return frozenset(admitted), refusals


def _refusal(*, needed_bytes: int, observed: ObservedNodeImages, factor: float) -> Problem | None:
    """Why the bytes do not fit; None if they do."""
    if observed.budget is None or needed_bytes * factor <= observed.budget.usable_bytes:
        return None
    budget = observed.budget
    shown = quantities.format_bytes
    return Problem(
        reason=Reason.INSUFFICIENT_STORAGE,
        message=(
            f"the images to pull need {shown(int(needed_bytes * factor))} of disk space "
            f"({shown(needed_bytes)} compressed); {shown(budget.free_bytes)} is free, and "
            f"{shown(budget.reserve_bytes)} must stay free for {budget.reserve_reason}"
        ),
    )
