"""A plan of garbage collection as JSON, for `lading image gc -o json` and the dashboard. Pure."""

from lading.kernel import conditions
from lading.kernel.objects import Model
from lading.runtime_images.gc_types import GcDecision, GcPlan, ImageVerdict
from lading.runtime_images.types import ImageHandlers

COLLECTION_PATH = "/runtime-images"
"""The page of an agent."""


class VerdictReport(Model, frozen=True, kw_only=True, omit_defaults=False):
    id: str
    runtime_handler: str
    by_digest_for_handlers: tuple[str, ...]
    serves_handlers: tuple[str, ...]
    """Its runtime handlers; the name of the default handler is empty."""
    names: tuple[str, ...]
    size_bytes: int
    decision: GcDecision
    reason: str
    message: str
    frees_bytes: int


class CollectionReport(Model, frozen=True, kw_only=True, omit_defaults=False):
    planned_at: str
    high_threshold_percent: int
    low_threshold_percent: int
    used_percent: int | None
    """None if the file system of the images is unknown."""
    wanted_bytes: int
    freed_bytes: int
    space_is_known: bool
    sandbox_image_is_known: bool
    verdicts: tuple[VerdictReport, ...]
    """Removals first, in their order."""


def collection_report(plan: GcPlan) -> CollectionReport:
    return CollectionReport(
        planned_at=conditions.timestamp(plan.planned_at),
        high_threshold_percent=plan.policy.high_threshold_percent,
        low_threshold_percent=plan.policy.low_threshold_percent,
        used_percent=plan.used_percent,
        wanted_bytes=plan.wanted_bytes,
        freed_bytes=plan.freed_bytes,
        space_is_known=plan.space_is_known,
        sandbox_image_is_known=plan.sandbox_image_is_known,
        verdicts=tuple(_verdict(one, plan.handlers[one.local_id]) for one in plan.verdicts),
    )


def _verdict(verdict: ImageVerdict, handlers: ImageHandlers) -> VerdictReport:
    image = verdict.image
    return VerdictReport(
        id=image.id,
        runtime_handler=image.runtime_handler,
        by_digest_for_handlers=handlers.by_digest,
        serves_handlers=tuple(sorted(handlers.all)),
        names=(*image.repo_tags, *image.repo_digests),
        size_bytes=image.size_bytes,
        decision=verdict.decision,
        reason=verdict.reason,
        message=verdict.message,
        frees_bytes=verdict.frees_bytes,
    )
