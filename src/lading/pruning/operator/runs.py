"""The report of one container of a pruning Job. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from lading.api.imageregistry import OBJECTS_MAX, REASONS_MAX, PruneRun, PruneRunPhase
from lading.kernel import conditions, texts
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.types import Decision, What
from lading.pruning.sweep import types as sweeps
from lading.pruning.sweep.controller import SweepResult
from lading.pruning.sweep.types import BlobReason

MESSAGE_BYTES_MAX = 1024
OBJECT_BYTES_MAX = 512


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a run."""

    candidates: int = 0
    deleted: int = 0
    released_bytes: int = 0
    freed_bytes: int = 0
    kept: Mapping[str, int] = {}


def job_of(pod: str) -> str:
    """Kubernetes names a pod after its Job."""
    return pod.rpartition("-")[0]


def run_of(
    progress: PruneProgress,
    *,
    name: str,
    job: str,
    phase: PruneRunPhase,
    message: str,
    figures: RunFigures,
    started_at: datetime,
    now: datetime,
) -> PruneRun:
    if phase is PruneRunPhase.RUNNING:
        message = message or _how_far(progress)
    return PruneRun(
        name=name,
        job=job,
        phase=phase,
        message=texts.bounded_text(message, bytes_max=MESSAGE_BYTES_MAX),
        start_time=conditions.timestamp(started_at),
        update_time=conditions.timestamp(now),
        duration_seconds=max(0, int((now - started_at).total_seconds())),
        candidates=figures.candidates,
        deleted=figures.deleted,
        released_bytes=figures.released_bytes,
        freed_bytes=figures.freed_bytes,
        kept=dict(sorted(figures.kept.items())[:REASONS_MAX]),
        unknown_references=len(progress.unknown),
        unknown_reference_objects=tuple(
            texts.bounded_text(one, bytes_max=OBJECT_BYTES_MAX)
            for one in sorted({mention.found_in for mention in progress.unknown})[:OBJECTS_MAX]
        ),
    )


def pruned(progress: PruneProgress, outcomes: Sequence[PruneOutcome] = ()) -> RunFigures:
    """Of a run that deletes images."""
    deleted = [one.line for one in outcomes if one.result is Result.DELETED]
    return RunFigures(
        candidates=len(progress.plan.deletions) if progress.plan else 0,
        deleted=len(deleted),
        released_bytes=sum(one.size_bytes for one in deleted),
        freed_bytes=sum(one.size_bytes for one in deleted if one.what is What.BLOB),
        kept=_kept(progress),
    )


def swept(found: SweepResult) -> RunFigures:
    """Of a sweep: condemned blobs are released, deleted blobs are freed."""
    goes = (BlobReason.CONDEMNED, BlobReason.UNREFERENCED)
    totals = sweeps.totals(found.plan, found.listing.blobs)
    return RunFigures(
        candidates=sum(one.blobs for one in totals if one.reason in goes),
        deleted=found.counts.freed_blobs,
        released_bytes=sum(one.size_bytes for one in totals if one.reason in goes),
        freed_bytes=found.counts.freed_bytes,
        kept={one.reason.label: one.blobs for one in totals if one.reason not in goes},
    )


def _how_far(progress: PruneProgress) -> str:
    if not progress.phase:
        return ""
    of_total = f" of {progress.total}" if progress.total else ""
    return f"{progress.phase}, {progress.done}{of_total}"


def _kept(progress: PruneProgress) -> dict[str, int]:
    if progress.plan is None:
        return {}
    verdicts = (*progress.plan.tag_verdicts.values(), *progress.plan.manifest_verdicts.values())
    return Counter(str(one.reason) for one in verdicts if one.decision is Decision.KEEP)
