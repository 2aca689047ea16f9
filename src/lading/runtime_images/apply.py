"""Carries out a removal plan: each image by its pair, if it is still unpinned and unused.

One image that cannot be removed does not stop the others. What was freed is learnt by looking.
"""

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lading.ports import cri
from lading.ports.cri import Cri, Image
from lading.ports.state_file import StateFile
from lading.runtime_images import listing, names, observe, rules, state
from lading.runtime_images.types import ImageKey, Policy, RemovalPlan, RemoveImage, key_of

_STILL_LISTED = (
    "the runtime still lists it; if it was pulled for a runtime class, turn the feature gate on"
    " or use `lading image cleanup`"
)


class Outcome(StrEnum):
    REMOVED = "removed"
    KEPT = "kept"
    """Something changed since the plan was made."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    key: ImageKey
    outcome: Outcome
    message: str


async def remember(plan: RemovalPlan, document: StateFile) -> None:
    """Keeps the look that the plan was made from: the ages of the next one begin here."""
    await state.save_memory(document, plan.memory)


async def apply(
    plan: RemovalPlan, runtime: Cri, document: StateFile
) -> AsyncGenerator[Removal, None]:
    """Remembers, then removes one after the other, telling of each.

    On a full disk nothing can be written down before something was removed.
    """
    try:
        await remember(plan, document)
        is_remembered = True
    except OSError:
        is_remembered = False
    removed: set[ImageKey] = set()
    for action in plan.actions:
        removal = await _remove(action, plan, runtime)
        if removal.outcome is Outcome.REMOVED:
            removed.add(action.key)
        yield removal
    if not is_remembered:
        await remember(plan, document)
    await state.forget_resolutions(document, _names(plan, removed))


def _names(plan: RemovalPlan, keys: Collection[ImageKey]) -> set[str]:
    images = (verdict.image for verdict in plan.verdicts if verdict.key in keys)
    return set[str]().union(*map(names.names_of, images))


async def _remove(action: RemoveImage, plan: RemovalPlan, runtime: Cri) -> Removal:
    try:
        reason = await reason_to_keep(action.key, runtime, plan.memory.looked_at)
        if reason is not None:
            return Removal(key=action.key, outcome=Outcome.KEPT, message=reason)
        if not await remove(action.key, runtime):
            return Removal(key=action.key, outcome=Outcome.FAILED, message=_STILL_LISTED)
    except cri.InUse as error:
        return Removal(key=action.key, outcome=Outcome.KEPT, message=error.message)
    except cri.CriError as error:
        return Removal(key=action.key, outcome=Outcome.FAILED, message=error.message)
    return Removal(key=action.key, outcome=Outcome.REMOVED, message=action.because)


async def remove(key: ImageKey, runtime: Cri) -> bool:
    """Whether it is gone. By its ID: given a name, some runtimes take only that name away."""
    await runtime.remove(key.spec)
    left = await _listed(key, runtime)
    for image in left:
        await _remove_by_names(image, runtime)
    return not left or not await _listed(key, runtime)


async def _remove_by_names(image: Image, runtime: Cri) -> None:
    """CRI-O finds an artifact by its names only. A name that means another image is left alone."""
    for name in (*image.repo_tags, *image.repo_digests):
        spec = replace(key_of(image).spec, image=name)
        named = await runtime.image(spec)
        if named is not None and key_of(named) == key_of(image):
            await runtime.remove(spec)


async def _listed(key: ImageKey, runtime: Cri) -> list[Image]:
    return [image for image in await runtime.images() if key_of(image) == key]


async def reason_to_keep(key: ImageKey, runtime: Cri, now: datetime) -> str | None:
    """Why nobody may remove the image at this moment; None when one may."""
    observed = await observe.needs(runtime)
    images = listing.merged(observed.images)
    facts = rules.gather(observed, images, Policy(), now)
    verdict = rules.kept(images, facts, rules.UNTOUCHABLE).get(key)
    return None if verdict is None else verdict.message
