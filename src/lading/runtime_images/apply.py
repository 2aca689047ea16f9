"""Removes one image, if it is still unpinned and unused.

The outcome is a value: an image that cannot be removed does not stop the others.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from lading.kernel.values import replace
from lading.ports import cri
from lading.ports.cri import Cri, Image
from lading.runtime_images import images, observe, rules
from lading.runtime_images.gc_types import GcPolicy, RemoveImage
from lading.runtime_images.state import ImageStateFile
from lading.runtime_images.types import LocalImageId, local_id

_STILL_LISTED = (
    "the runtime still lists it; if it was pulled for a runtime class, turn the feature gate on"
    " or use `lading image cleanup`"
)


class RemovalOutcome(StrEnum):
    REMOVED = "removed"
    KEPT = "kept"
    """Something changed after the plan."""
    FAILED = "failed"


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    image: LocalImageId
    outcome: RemovalOutcome
    message: str


async def remove_planned(
    action: RemoveImage, runtime: Cri, state: ImageStateFile, now: datetime
) -> Removal:
    removal = await _remove(action, runtime, now)
    if removal.outcome is RemovalOutcome.REMOVED:
        await state.forget_digest_pulls(images.names_of(action.image))
    return removal


async def _remove(action: RemoveImage, runtime: Cri, now: datetime) -> Removal:
    image = action.local_id
    try:
        reason = await reason_to_keep(image, runtime, now)
        if reason is not None:
            return Removal(image=image, outcome=RemovalOutcome.KEPT, message=reason)
        if not await remove(image, runtime):
            return Removal(image=image, outcome=RemovalOutcome.FAILED, message=_STILL_LISTED)
    except cri.InUse as error:
        return Removal(image=image, outcome=RemovalOutcome.KEPT, message=error.message)
    except cri.CriError as error:
        return Removal(image=image, outcome=RemovalOutcome.FAILED, message=error.message)
    return Removal(image=image, outcome=RemovalOutcome.REMOVED, message=action.because)


async def remove(image: LocalImageId, runtime: Cri) -> bool:
    """Whether it is gone. Removes by ID: with a name, some runtimes remove only the name."""
    await runtime.remove(image.spec)
    left = await _listed(image, runtime)
    for one in left:
        await _remove_by_names(one, runtime)
    return not left or not await _listed(image, runtime)


async def _remove_by_names(image: Image, runtime: Cri) -> None:
    """CRI-O finds an artifact only by its names. A name of another image stays."""
    for name in (*image.repo_tags, *image.repo_digests):
        spec = replace(local_id(image).spec, image=name)
        named = await runtime.image(spec)
        if named is not None and local_id(named) == local_id(image):
            await runtime.remove(spec)


async def _listed(image: LocalImageId, runtime: Cri) -> list[Image]:
    return [one for one in await runtime.images() if local_id(one) == image]


async def reason_to_keep(image: LocalImageId, runtime: Cri, now: datetime) -> str | None:
    """Why the image must stay now; None if it may be removed."""
    observed = await observe.observe_use(runtime)
    listed = images.merged(observed.images)
    facts = rules.gather(observed, listed, GcPolicy(), now)
    verdict = rules.kept(listed, facts, rules.UNTOUCHABLE).get(image)
    return None if verdict is None else verdict.message
