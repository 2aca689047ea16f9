"""Pruning: the plan of a file, by repository and rule, and its lines."""

from typing import Any

from lading.kernel import quantities
from lading.pruning.engine.types import Deletion, Header, Saving
from lading.web.pruning_plan import PlanLines
from lading.web.views import wording


def summary(header: Header | str | None) -> tuple[str, str]:
    if header is None:
        return "empty", "No plan is shown. Start the dashboard with --plan FILE."
    if isinstance(header, str):
        return "unavailable", wording.message(header)
    deletions = wording.counted(header.deletions, "deletion")
    frees = quantities.format_bytes(header.size_bytes)
    return (
        "ok",
        f"The plan of {wording.message(header.registry)} has {deletions} and frees {frees}.",
    )


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
