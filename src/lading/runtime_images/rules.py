"""Why an image must stay: small rules in order, each named after the fact that it finds.

Garbage collection and the clean-up after the feature gate use the same rules, so an image that one
of them may not touch is safe from the other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lading.kernel import durations
from lading.ports.cri import Image
from lading.runtime_images import memory as memories
from lading.runtime_images import names
from lading.runtime_images.types import (
    Decision,
    ImageKey,
    Memory,
    Observed,
    Policy,
    Reason,
    Verdict,
    Whose,
    key_of,
)
from lading.runtime_images.usage import Usage, usage
from lading.runtime_images.whose import whose

_SANDBOX_REPOSITORY = "pause"  # what every distribution of Kubernetes calls it


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that a rule may look at, apart from the image itself."""

    usage: Usage
    whose: Mapping[ImageKey, Whose]
    sandbox_image: str
    memory: Memory
    policy: Policy
    instant: datetime


Finding = tuple[Reason, str]
Rule = Callable[[Image, Facts], Finding | None]


def gather(observed: Observed, images: Sequence[Image], policy: Policy, now: datetime) -> Facts:
    """What the rules look at, the memory of this look included."""
    used = usage(images, observed.containers)
    memory = memories.remember(
        observed.memory,
        present=map(key_of, images),
        in_use=used.users.keys(),
        policy=policy,
        now=now,
    )
    return Facts(
        usage=used,
        whose=whose(images, observed.resolutions),
        sandbox_image=observed.sandbox_image,
        memory=memory,
        policy=policy,
        instant=now,
    )


def kept(images: Iterable[Image], facts: Facts, chain: Sequence[Rule]) -> dict[ImageKey, Verdict]:
    """The images that some rule wants kept, each with the verdict of the first such rule."""
    verdicts = ((key_of(image), _first_verdict(image, facts, chain)) for image in images)
    return {key: verdict for key, verdict in verdicts if verdict is not None}


def _first_verdict(image: Image, facts: Facts, chain: Sequence[Rule]) -> Verdict | None:
    for rule in chain:
        finding = rule(image, facts)
        if finding is not None:
            reason, message = finding
            return Verdict(image=image, decision=Decision.KEEP, reason=reason, message=message)
    return None


def is_pinned(image: Image, _: Facts) -> Finding | None:
    return (Reason.PINNED, "it is pinned") if image.pinned else None


def is_sandbox_image(image: Image, facts: Facts) -> Finding | None:
    if facts.sandbox_image and names.goes_by(image, facts.sandbox_image):
        return Reason.SANDBOX_IMAGE, "every pod sandbox runs it"
    return None


def may_be_sandbox_image(image: Image, facts: Facts) -> Finding | None:
    if facts.sandbox_image or not any(map(_is_called_pause, names.names_of(image))):
        return None
    message = "the runtime does not say what its pod sandboxes run, and this is called pause"
    return Reason.MAY_BE_SANDBOX_IMAGE, message


def is_in_use(image: Image, facts: Facts) -> Finding | None:
    users = facts.usage.users.get(key_of(image))
    return (Reason.IN_USE, ", ".join(users)) if users else None


def use_is_unknown(_: Image, facts: Facts) -> Finding | None:
    unresolved = ", ".join(facts.usage.unresolved)
    return (Reason.USE_UNKNOWN, f"any image may be needed by {unresolved}") if unresolved else None


def belongs_to_other_class(image: Image, facts: Facts) -> Finding | None:
    wanted, handlers = facts.policy.only_handler, facts.whose[key_of(image)].handlers
    if wanted is None or handlers == {wanted}:
        return None
    denial = "it is not only for" if wanted in handlers else "it is not for"
    return Reason.OTHER_RUNTIME_CLASS, f"{denial} runtime handler {wanted or '(default)'}"


def is_too_young(image: Image, facts: Facts) -> Finding | None:
    age = memories.age(facts.memory, key_of(image), facts.instant)
    least = facts.policy.minimum_age
    if age >= least:
        return None
    message = f"first seen {whole_seconds(age)} ago, which is less than {whole_seconds(least)}"
    return Reason.TOO_YOUNG, message


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
