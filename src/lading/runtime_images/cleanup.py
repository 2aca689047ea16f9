"""What a node must lose when the feature gate was turned off, or before it is turned on again.

Without the gate nobody names a handler, so an image that was pulled for one could be taken for
the host's. Such images go; one that a container still needs stays, and says what to restart.
"""

from collections.abc import Collection
from datetime import datetime

from lading.ports.cri import Image
from lading.runtime_images import listing, names, rules
from lading.runtime_images.layers import LayerLedger
from lading.runtime_images.rules import Facts, Finding
from lading.runtime_images.types import (
    Decision,
    Observed,
    Policy,
    Reason,
    RemovalPlan,
    Resolution,
    Verdict,
    key_of,
)


def plan(observed: Observed, resolutions: Collection[Resolution], now: datetime) -> RemovalPlan:
    """`resolutions` name the images that were pulled by digest for a handler."""
    pulled = {resolution.pulled for resolution in resolutions}

    def is_for_default_handler(image: Image, _: Facts) -> Finding | None:
        if image.runtime_handler or not pulled.isdisjoint(names.names_of(image)):
            return None
        return Reason.DEFAULT_HANDLER, "it was pulled for no runtime handler"

    images = listing.merged(observed.images)
    facts = rules.gather(observed, images, Policy(), now)
    kept = rules.kept(images, facts, (is_for_default_handler, *rules.UNTOUCHABLE))
    ledger = LayerLedger(observed.layers)
    removed = tuple(_removal(image, ledger) for image in images if key_of(image) not in kept)
    return RemovalPlan(
        verdicts=(*removed, *kept.values()), memory=facts.memory, notes=_notes(kept.values())
    )


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
