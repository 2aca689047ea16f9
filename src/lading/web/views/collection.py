"""The images of a node by runtime class, with what garbage collection would take and why.

The verdicts are those of the node's agent, which `lading image gc` shows there too.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lading.api.core import RuntimeClass
from lading.runtime_images.gc_types import GcDecision
from lading.runtime_images.report import CollectionReport, VerdictReport
from lading.web.views import pins, wording
from lading.web.views.pins import Pinned

IMAGES_MAX = 500  # a list that is longer is read on the node
DEFAULT = "Default runtime"


def value(
    report: CollectionReport | None, classes: Iterable[RuntimeClass], pinned: Pinned
) -> dict[str, Any]:
    """Without a report the value only says that it is unknown."""
    if report is None:
        return {"isKnown": False}
    shown = report.verdicts[:IMAGES_MAX]
    names = class_names(classes)
    groups: dict[tuple[str, ...], list[VerdictReport]] = {}
    for verdict in shown:
        groups.setdefault(verdict.serves_handlers, []).append(verdict)
    return {
        "isKnown": True,
        "plannedAt": report.planned_at,
        "usedPercent": report.used_percent,
        "highPercent": report.high_threshold_percent,
        "lowPercent": report.low_threshold_percent,
        "freedBytes": report.freed_bytes,
        "count": len(report.verdicts),
        "goes": sum(one.decision is GcDecision.REMOVE for one in report.verdicts),
        "groups": [
            {
                "name": ", ".join(names.get(one, f"handler {wording.message(one)}") for one in key),
                "images": [_image(verdict, pinned) for verdict in groups[key]],
            }
            for key in sorted(groups)
        ],
    }


def class_names(classes: Iterable[RuntimeClass]) -> Mapping[str, str]:
    """Handler -> the runtime classes that name it."""
    found: dict[str, list[str]] = {}
    for one in classes:
        found.setdefault(one.handler, []).append(one.metadata.name)
    named = {handler: wording.message(", ".join(sorted(names))) for handler, names in found.items()}
    return {**named, "": DEFAULT}


def _image(verdict: VerdictReport, pinned: Pinned) -> dict[str, Any]:
    return {
        "id": verdict.id,
        "names": [wording.image(name) for name in verdict.names],
        "sizeBytes": verdict.size_bytes,
        "goes": verdict.decision is GcDecision.REMOVE,
        "reason": wording.message(verdict.reason),
        "message": wording.message(verdict.message),
        "freesBytes": verdict.frees_bytes,
        "sets": pins.sets_of_image(verdict.names, pinned, verdict.serves_handlers),
    }
