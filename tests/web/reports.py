"""What an agent answers about garbage collection."""

from lading.runtime_images.gc_types import GcDecision, GcReason
from lading.runtime_images.report import CollectionReport, VerdictReport


def verdict(
    name: str,
    *,
    handlers: tuple[str, ...] = ("",),
    goes: bool = False,
    reason: GcReason = GcReason.MAKES_ROOM,
    message: str = "for the test",
) -> VerdictReport:
    return VerdictReport(
        id=f"sha256:{name}",
        runtime_handler=handlers[0],
        by_digest_for_handlers=(),
        serves_handlers=handlers,
        names=(name,),
        size_bytes=2048,
        decision=GcDecision.REMOVE if goes else GcDecision.KEEP,
        reason=reason,
        message=message,
        frees_bytes=1024 if goes else 0,
    )


def collection(*verdicts: VerdictReport, used_percent: int | None = 90) -> CollectionReport:
    return CollectionReport(
        planned_at="2026-01-01T00:00:00Z",
        high_threshold_percent=85,
        low_threshold_percent=80,
        used_percent=used_percent,
        wanted_bytes=1000,
        freed_bytes=sum(one.frees_bytes for one in verdicts),
        space_is_known=used_percent is not None,
        sandbox_image_is_known=True,
        verdicts=verdicts,
    )
