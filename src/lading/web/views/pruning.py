"""Pruning: the runs of the ImagePruner, and the plan of a file, by repository and rule."""

from collections.abc import Iterable
from typing import Any

import msgspec

from lading.api.imageregistry import PruneRun, StoredImagePruner
from lading.kernel import quantities
from lading.kernel.conditions import Condition, Truth
from lading.kernel.errors import UNREADABLE
from lading.pruning.engine.types import Deletion, Header, Saving
from lading.pruning.operator import observe
from lading.web.pruning_plan import PlanLines
from lading.web.views import pins, wording
from lading.web.views.problems import ShownProblem, Urgency


def summary(
    header: Header | str | None, pruners: Iterable[StoredImagePruner], absence: str
) -> tuple[str, str]:
    """Of the runs on a schedule, and of the plan; `absence` is why there are no pruners."""
    if isinstance(header, str):
        return "unavailable", wording.message(header)
    values = [pruner_value(one) for one in pruners]
    sentences = [_runs_sentence(one) for one in values] or [absence or "There is no ImagePruner."]
    if header is not None:
        deletions = wording.counted(header.deletions, "deletion")
        frees = quantities.format_bytes(header.size_bytes)
        registry = wording.message(header.registry)
        sentences.append(f"The plan of {registry} has {deletions} and frees {frees}.")
    if any(one["failed"] for one in values):
        return "error", " ".join(sentences)
    has_figures = header is not None or any(one["runs"] for one in values)
    return ("ok" if has_figures else "empty"), " ".join(sentences)


def _runs_sentence(value: dict[str, Any]) -> str:
    runs = value["runs"]
    if not runs:
        return "Suspended: no Job starts." if value["isSuspended"] else "No Job has reported yet."
    freed = quantities.format_bytes(sum(one["freedBytes"] for one in runs))
    deleted = wording.counted(sum(one["deleted"] for one in runs), "deletion")
    phases = ", ".join(sorted({one["phase"] for one in runs}))
    return f"The last run ({phases}) made {deleted} and freed {freed}."


def pruner_value(pruner: StoredImagePruner) -> dict[str, Any]:
    """As far as its status can be read: its schema may be that of another owner."""
    status = pruner.status
    conditions = _conditions(pruner)
    return {
        "name": pruner.metadata.name,
        "schedule": _text(status.get("schedule")) or _text(pruner.spec.get("schedule")),
        "isSuspended": pruner.spec.get("suspend") is True,
        "nextTime": _text(status.get("nextScheduleTime")),
        "lastSuccess": _text(status.get("lastSuccessTime")),
        "lastJob": _text(status.get("lastJob")),
        "lastJobEnd": _text(status.get("lastJobEndTime")),
        "failed": next(
            (
                wording.message(one.message or one.reason)
                for one in conditions
                if one.type == "Failed" and one.status == Truth.TRUE
            ),
            "",
        ),
        "conditions": [pins.condition_value(one) for one in conditions],
        "runs": [_run(one) for one in observe.reports(pruner, None)],
    }


def _text(value: Any) -> str:
    return wording.message(value) if isinstance(value, str) else ""


def _conditions(pruner: StoredImagePruner) -> tuple[Condition, ...]:
    try:
        return msgspec.convert(pruner.status.get("conditions", ()), tuple[Condition, ...])
    except UNREADABLE:
        return ()


def _run(one: PruneRun) -> dict[str, Any]:
    return {
        "name": one.name,
        "job": one.job,
        "phase": wording.message(one.phase),
        "message": wording.message(one.message),
        "started": one.start_time,
        "updated": one.update_time,
        "seconds": one.duration_seconds,
        "candidates": one.candidates,
        "deleted": one.deleted,
        "releasedBytes": one.released_bytes,
        "freedBytes": one.freed_bytes,
        "kept": {wording.message(reason): count for reason, count in one.kept.items()},
        "unknownReferences": one.unknown_references,
        "unknownObjects": [wording.message(text) for text in one.unknown_reference_objects],
    }


def problems(pruners: Iterable[StoredImagePruner]) -> list[ShownProblem]:
    """The last Job failed, or references cannot be read."""
    found = []
    for value in map(pruner_value, pruners):
        if value["failed"]:
            found.append(
                ShownProblem(
                    key="pruning/failed",
                    feature="pruning",
                    urgency=Urgency.ERROR,
                    title=f"The last pruning Job failed: {value['lastJob'] or value['name']}",
                    detail=value["failed"],
                    command=wording.command("lading", "get", "imagepruners", "-o", "yaml"),
                    purpose="Show the conditions and the report of the run",
                    link="#/pruning",
                )
            )
        unknown = [text for one in value["runs"] for text in one["unknownObjects"]]
        if unknown:
            found.append(
                ShownProblem(
                    key="pruning/unknown",
                    feature="pruning",
                    urgency=Urgency.WARNING,
                    title="References that cannot be read keep images in the registry",
                    detail=", ".join(unknown),
                    command="lading prune references",
                    purpose="Show every reference and where it was found",
                    link="#/pruning",
                )
            )
    return found


def page(found: PlanLines | None, *, name: str) -> dict[str, Any]:
    if found is None:
        return {"file": "", "lines": []}
    header = found.header
    return {
        "file": wording.message(name),
        "registry": wording.message(header.registry),
        "source": header.source,
        "clusters": [wording.message(one) for one in header.clusters],
        "settings": {
            wording.message(key): wording.message(text) for key, text in header.settings.items()
        },
        "plannedAt": header.planned_at.isoformat(),
        "references": header.references,
        "deletions": header.deletions,
        "keptForUnknownPushTime": header.kept_for_unknown_push_time,
        "sizeBytes": header.size_bytes,
        "byRepository": [_saving(one) for one in header.by_repository],
        "byRule": [_saving(one) for one in header.by_rule],
        "lines": [_line(one) for one in found.lines],
        "matching": found.matching,
        "offset": found.offset,
    }


def _saving(one: Saving) -> dict[str, Any]:
    return {
        "name": wording.message(one.name),
        "deletions": one.deletions,
        "sizeBytes": one.size_bytes,
    }


def _line(one: Deletion) -> dict[str, Any]:
    """A tag is a name of the registry, in which `token:1` is no secret."""
    return {
        "what": one.what,
        "repository": wording.message(one.repository),
        "tag": one.tag[:128],
        "digest": one.digest[:128],
        "sizeBytes": one.size_bytes,
        "reason": one.reason,
        "because": wording.message(one.because),
    }
