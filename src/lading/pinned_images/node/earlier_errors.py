"""The errors that an agent reported before it was started again, from its last status. Pure.

The ledger of pulls is lost with the process. An error stands until its image is on the node, or a
pull of this process has failed with another one.
"""

from collections.abc import Collection

from lading.kernel import conditions
from lading.kernel.images import ImageKey
from lading.pinned_images.node.types import DesiredSet, ObservedNodeImages, Problem
from lading.pinned_images.reasons import ConditionType, Reason


def earlier_errors(
    image_set: DesiredSet, missing: Collection[ImageKey], observed: ObservedNodeImages
) -> dict[ImageKey, Problem]:
    """By the image; none where this process has pulled it since, or nothing is degraded."""
    errors = _errors(image_set, observed)
    if not errors:
        return {}
    return {
        key: Problem(reason=_reason(error, observed), message=error, image=str(key))
        for key in missing
        if key not in observed.past_pulls
        for error in errors
        if _is_about(error, key)
    }


def _errors(image_set: DesiredSet, observed: ObservedNodeImages) -> tuple[str, ...]:
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


def _reason(error: str, observed: ObservedNodeImages) -> Reason:
    """The status has the reason of its worst error only, and quotes that one."""
    degraded = conditions.find(observed.last_status.conditions, ConditionType.SETS_DEGRADED)
    if degraded is None or degraded.reason != Reason.NO_SPACE or error not in degraded.message:
        return Reason.PREFETCH_FAILED
    return Reason.NO_SPACE
