"""Which sets fit on the disk beside everything else that is wanted there. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from lading.kernel import quantities
from lading.kernel.images import ImageKey, Layer
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import Desired, ObservedNodeImages, Problem
from lading.pinned_images.reasons import Reason


def admit_by_storage(
    desired: Desired, observed: ObservedNodeImages
) -> tuple[frozenset[ImageKey], dict[str, Problem]]:
    """The missing images that may be pulled, and the sets that do not fit as a whole.

    How much of its space a running pull has taken already is unknown. Until it has ended it
    counts in full for what may start beside it, and not at all for what is refused.
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
    """What a set lacks; small ones sort first, so that a large one takes nothing from them."""

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
    """The sets with missing images for which it is unknown whether they fit."""
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
    """Layers are counted once over all sets, beside bytes that are taken already."""
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
    """The images do not fit beside what must stay free."""
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
