"""Pruning: the runs of the ImagePruner, and the plan of a file, by repository and rule."""

from collections.abc import Iterable
from typing import Any

import msgspec

from lading.api.imageregistry import PruneRun, StoredImagePruner
from lading.kernel import quantities
from lading.kernel.conditions import Condition, Truth
from lading.kernel.errors import UNREADABLE
from lading.pruning.engine.decisions.plan_contents import PlanContents
from lading.pruning.engine.types import Decision, Deletion, Header, Repository, Saving, Verdict
from lading.pruning.operator import observe
from lading.web.pruning_plan import PlanLines
from lading.web.views import pins, wording
from lading.web.views.wording import ShownProblem, Urgency


def summary(
    header: Header | str | None, pruners: Iterable[StoredImagePruner], absence: str
) -> tuple[str, str]:
    """The scheduled runs and the plan. `absence` says why there are no pruners."""
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
    """Shows the readable part of the status: another owner may define its schema."""
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
    """Does not look for secrets: `token:1` is a tag."""
    return {
        "what": one.what,
        "repository": wording.message(one.repository),
        "tag": one.tag[:128],
        "digest": one.digest[:128],
        "sizeBytes": one.size_bytes,
        "reason": one.reason,
        "because": wording.message(one.because),
    }


DIGEST_CHARACTERS_MAX = 200
PARTS_MAX = 500


def overview(contents: PlanContents | None) -> dict[str, Any]:
    """The repositories, and the bytes that stay, by reason."""
    if contents is None:
        return {"isThere": False}
    repositories = contents.inventory.repositories.values()
    return {
        "isThere": True,
        "kept": contents.kept_by_reason(),
        "repositories": [_repository(one, contents) for one in repositories],
    }


def _repository(one: Repository, contents: PlanContents) -> dict[str, Any]:
    tags = [contents.plan.tag_verdicts[one.name, tag.name] for tag in one.tags]
    manifests = [contents.plan.manifest_verdicts[one.name, digest] for digest in one.manifests]
    return {
        "name": wording.message(one.name),
        "tags": len(tags),
        "tagsThatGo": sum(map(_goes, tags)),
        "manifests": len(manifests),
        "manifestsThatGo": sum(map(_goes, manifests)),
    }


def _goes(verdict: Verdict) -> bool:
    return verdict.decision is Decision.DELETE


def repository(contents: PlanContents, name: str) -> dict[str, Any] | None:
    """The first tags and manifests of the repository."""
    one = contents.inventory.repositories.get(name)
    if one is None:
        return None
    plan = contents.plan
    return {
        "name": wording.message(name),
        "tags": [
            {
                "name": tag.name[:128],
                "digest": tag.digest[:DIGEST_CHARACTERS_MAX],
                **_verdict(plan.tag_verdicts[name, tag.name]),
            }
            for tag in one.tags[:PARTS_MAX]
        ],
        "manifests": [
            {
                "digest": digest[:DIGEST_CHARACTERS_MAX],
                **_verdict(plan.manifest_verdicts[name, digest]),
            }
            for digest in one.manifests[:PARTS_MAX]
        ],
        "tagCount": len(one.tags),
        "manifestCount": len(one.manifests),
    }


def _verdict(verdict: Verdict) -> dict[str, str]:
    return {
        "decision": verdict.decision.value,
        "reason": verdict.reason.value,
        "message": wording.message(verdict.message),
    }


def explained(contents: PlanContents, reference: str) -> dict[str, Any] | None:
    """The answer of `why`, and the parts of the manifest."""
    from lading.pruning.engine.decisions import why  # brings numpy, which only this question needs

    answer = why.why(reference, contents.inventory, contents.references, contents.plan)
    digest = why.digest_of(reference, contents.inventory)
    is_tag = bool(digest) and digest not in reference
    known = contents.inventory.manifests
    manifest = None if is_tag else known.get(digest)
    if not answer.is_known and manifest is None and not known.has_blob(digest):
        return None
    parts = [(one, "manifest", 0) for one in (manifest.children if manifest else ())]
    blobs = manifest.blobs if manifest else ()
    parts += [(one, "blob", known.blob_size_bytes(one)) for one in blobs]
    return {
        "reference": wording.image(reference),
        "digest": digest[:DIGEST_CHARACTERS_MAX],
        "kind": "tag" if is_tag else "manifest" if manifest else "blob",
        "sizeBytes": manifest.size_bytes if manifest else known.blob_size_bytes(digest),
        "verdicts": [
            {"place": wording.message(place), **_verdict(verdict)}
            for place, verdict in answer.verdicts
        ],
        "chains": [[wording.message(step) for step in chain] for chain in answer.chains],
        "parts": [
            {"digest": one[:DIGEST_CHARACTERS_MAX], "kind": kind, "sizeBytes": size}
            for one, kind, size in parts[:PARTS_MAX]
        ],
    }
