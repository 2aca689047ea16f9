"""What a node must lose when the feature gate was turned off, or before it is turned on again.

Without the gate nobody names a handler, so an image that was pulled for one could be taken for
the host's. Such images go; one that a container still needs stays, and says what to restart.
"""

from collections.abc import Collection
from datetime import datetime

from lading.ports.cri import Image
from lading.runtime_images import listing, rules
from lading.runtime_images.layers import LayerLedger
from lading.runtime_images.rules import Facts, Finding
from lading.runtime_images.types import (
    Decision,
    Observed,
    Policy,
    Reason,
    RemovalPlan,
    Verdict,
    key_of,
)


def plan(observed: Observed, now: datetime) -> RemovalPlan:
    images = listing.merged(observed.images)
    facts = rules.gather(observed, images, Policy(), now)
    kept = rules.kept(images, facts, (is_for_default_handler, *rules.UNTOUCHABLE))
    ledger = LayerLedger(observed.layers)
    removed = tuple(_removal(image, ledger) for image in images if key_of(image) not in kept)
    return RemovalPlan(
        verdicts=(*removed, *kept.values()),
        whose=facts.whose,
        memory=facts.memory,
        notes=_notes(kept.values()),
    )


def is_for_default_handler(image: Image, facts: Facts) -> Finding | None:
    whose = facts.whose[key_of(image)]
    if whose.handler != "":
        return None
    if whose.by_digest:
        return Reason.DEFAULT_HANDLER, "it is the host's too, by another name"
    return Reason.DEFAULT_HANDLER, "it was pulled for no runtime handler"


def _removal(image: Image, ledger: LayerLedger) -> Verdict:
    return Verdict(
        image=image,
        decision=Decision.REMOVE,
        reason=Reason.LEFT_BY_GATE,
        message="it was pulled for a runtime handler that nobody will name again",
        frees_bytes=ledger.take(image),
    )


def _notes(kept: Collection[Verdict]) -> tuple[str, ...]:
    in_use = sum(verdict.reason is Reason.IN_USE for verdict in kept)
    if not in_use:
        return ()
    return (f"{in_use} still in use: restart the pods that are named, then clean up again",)
