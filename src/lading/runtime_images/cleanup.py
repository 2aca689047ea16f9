"""Plans the removal of images that were pulled for a handler, while the feature gate is off. Pure.

Without the gate no request names a handler, so the host could use an image of a handler. An image
that a container uses stays, and the message names the container.
"""

from datetime import datetime

from lading.ports.cri import Image
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
from lading.runtime_images.types import local_id
from lading.runtime_images.usage import LayerCounter


def plan(observed: ObservedImages, now: datetime) -> GcPlan:
    listed = images.merged(observed.images)
    facts = rules.gather(observed, listed, GcPolicy(), now)
    kept = rules.kept(listed, facts, (is_for_default_handler, *rules.UNTOUCHABLE))
    counter = LayerCounter(observed.layers)
    removed = [_removal(image, counter) for image in listed if local_id(image) not in kept]
    return GcPlan(
        actions=(
            *(RemoveImage(image=one.image, because=one.message) for one in removed),
            WriteImageRecords(records=facts.records),
        ),
        planned_at=now,
        policy=facts.policy,
        verdicts=(*removed, *kept.values()),
        handlers=facts.handlers,
    )


def is_for_default_handler(image: Image, facts: GcFacts) -> Finding | None:
    handlers = facts.handlers[local_id(image)]
    if handlers.listed != "":
        return None
    if handlers.by_digest:
        return GcReason.DEFAULT_HANDLER, "the host has it too, under another name"
    return GcReason.DEFAULT_HANDLER, "it was pulled for no runtime handler"


def _removal(image: Image, counter: LayerCounter) -> ImageVerdict:
    return ImageVerdict(
        image=image,
        decision=GcDecision.REMOVE,
        reason=GcReason.LEFT_BY_GATE,
        message="it was pulled for a runtime handler, and the feature gate is off",
        frees_bytes=counter.take(image),
    )
