"""The rules that keep an image, in order. Pure.

Garbage collection and the clean-up after the feature gate use the same rules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from lading.kernel import durations
from lading.ports.cri import Image
from lading.runtime_images import images as node_images
from lading.runtime_images.gc_types import (
    GcDecision,
    GcPolicy,
    GcReason,
    ImageVerdict,
    ObservedImages,
    records_after,
)
from lading.runtime_images.types import (
    ImageHandlers,
    ImageRecords,
    LocalImageId,
    local_id,
)
from lading.runtime_images.usage import Usage, usage

_SANDBOX_REPOSITORY = "pause"  # its name in every distribution of Kubernetes


class GcFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a rule, apart from the image itself."""

    usage: Usage
    handlers: Mapping[LocalImageId, ImageHandlers]
    sandbox_image: str
    records: ImageRecords
    policy: GcPolicy
    instant: datetime


Finding = tuple[GcReason, str]
Rule = Callable[[Image, GcFacts], Finding | None]


def gather(
    observed: ObservedImages, images: Sequence[Image], policy: GcPolicy, now: datetime
) -> GcFacts:
    """Includes the records of this observation."""
    used = usage(images, observed.containers)
    return GcFacts(
        usage=used,
        handlers=node_images.handlers_of(images, observed.digest_pulls),
        sandbox_image=observed.sandbox_image,
        records=records_after(
            observed.records,
            present=map(local_id, images),
            in_use=used.users.keys(),
            policy=policy,
            now=now,
        ),
        policy=policy,
        instant=now,
    )


def kept(
    images: Iterable[Image], facts: GcFacts, chain: Sequence[Rule]
) -> dict[LocalImageId, ImageVerdict]:
    """The images that a rule keeps, each with the verdict of the first such rule."""
    verdicts = ((local_id(image), _first_verdict(image, facts, chain)) for image in images)
    return {key: verdict for key, verdict in verdicts if verdict is not None}


def _first_verdict(image: Image, facts: GcFacts, chain: Sequence[Rule]) -> ImageVerdict | None:
    for rule in chain:
        finding = rule(image, facts)
        if finding is not None:
            reason, message = finding
            return ImageVerdict(
                image=image, decision=GcDecision.KEEP, reason=reason, message=message
            )
    return None


def is_pinned(image: Image, _: GcFacts) -> Finding | None:
    return (GcReason.PINNED, "it is pinned") if image.pinned else None


def is_sandbox_image(image: Image, facts: GcFacts) -> Finding | None:
    if facts.sandbox_image and node_images.has_name(image, facts.sandbox_image):
        return GcReason.SANDBOX_IMAGE, "every pod sandbox runs it"
    return None


def may_be_sandbox_image(image: Image, facts: GcFacts) -> Finding | None:
    if facts.sandbox_image or not any(map(_is_called_pause, node_images.names_of(image))):
        return None
    message = "the runtime does not report its sandbox image, and this one is called pause"
    return GcReason.MAY_BE_SANDBOX_IMAGE, message


def is_in_use(image: Image, facts: GcFacts) -> Finding | None:
    users = facts.usage.users.get(local_id(image))
    return (GcReason.IN_USE, ", ".join(dict.fromkeys(users))) if users else None


def use_is_unknown(_: Image, facts: GcFacts) -> Finding | None:
    if not facts.usage.unresolved:
        return None
    return GcReason.USE_UNKNOWN, f"any image may be needed by {', '.join(facts.usage.unresolved)}"


def belongs_to_other_class(image: Image, facts: GcFacts) -> Finding | None:
    wanted, handlers = facts.policy.only_handler, facts.handlers[local_id(image)].all
    if wanted is None or handlers == {wanted}:
        return None
    denial = "it is not only for" if wanted in handlers else "it is not for"
    return GcReason.OTHER_RUNTIME_CLASS, f"{denial} runtime handler {wanted or '(default)'}"


def is_too_young(image: Image, facts: GcFacts) -> Finding | None:
    age = facts.records.age(local_id(image), facts.instant)
    least = facts.policy.minimum_age
    if age >= least:
        return None
    message = f"first detected {whole_seconds(age)} ago, which is less than {whole_seconds(least)}"
    return GcReason.TOO_YOUNG, message


def _is_called_pause(name: str) -> bool:
    path = name.partition("@")[0]
    return path.rpartition("/")[2].partition(":")[0] == _SANDBOX_REPOSITORY


def whole_seconds(duration: timedelta) -> str:
    return durations.format_duration(timedelta(seconds=duration // timedelta(seconds=1)))


UNTOUCHABLE: tuple[Rule, ...] = (
    is_pinned,
    is_sandbox_image,
    is_in_use,
    use_is_unknown,
    may_be_sandbox_image,
)
COLLECTION: tuple[Rule, ...] = (*UNTOUCHABLE, belongs_to_other_class, is_too_young)
