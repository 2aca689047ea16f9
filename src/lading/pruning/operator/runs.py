"""What a container of a pruning Job reports about its run. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from lading.api.imageregistry import OBJECTS_MAX, REASONS_MAX, PruneRun, PruneRunPhase
from lading.kernel import conditions, texts
from lading.pruning.engine.apply import PruneOutcome, Result
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.types import Decision, What

MESSAGE_BYTES_MAX = 1024
OBJECT_BYTES_MAX = 512


def job_of(pod: str) -> str:
    """The Job of a pod, which names it after itself."""
    return pod.rpartition("-")[0]


def run_of(
    progress: PruneProgress,
    *,
    name: str,
    job: str,
    phase: PruneRunPhase,
    message: str,
    outcomes: Sequence[PruneOutcome],
    started_at: datetime,
    now: datetime,
) -> PruneRun:
    deleted = [one.line for one in outcomes if one.result is Result.DELETED]
    plan = progress.plan
    return PruneRun(
        name=name,
        job=job,
        phase=phase,
        message=texts.bounded_text(message or _how_far(progress), bytes_max=MESSAGE_BYTES_MAX),
        start_time=conditions.timestamp(started_at),
        update_time=conditions.timestamp(now),
        duration_seconds=max(0, int((now - started_at).total_seconds())),
        candidates=len(plan.deletions) if plan else 0,
        deleted=len(deleted),
        released_bytes=sum(one.size_bytes for one in deleted),
        freed_bytes=sum(one.size_bytes for one in deleted if one.what is What.BLOB),
        kept=_kept(progress),
        unknown_references=len(progress.unknown),
        unknown_reference_objects=tuple(
            texts.bounded_text(one, bytes_max=OBJECT_BYTES_MAX)
            for one in sorted({mention.found_in for mention in progress.unknown})[:OBJECTS_MAX]
        ),
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
    counts = Counter(str(one.reason) for one in verdicts if one.decision is Decision.KEEP)
    return dict(sorted(counts.items())[:REASONS_MAX])
