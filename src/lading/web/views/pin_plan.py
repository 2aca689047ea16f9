"""What sets in files would mean for each node, before they are applied: `lading pin plan`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from lading.pinned_images.node.preview import Preview
from lading.web.views import wording

IMAGES_MAX = 200  # of a node, to look at; the number is that of all


class PlannedSets(msgspec.Struct, frozen=True, kw_only=True):
    files: Sequence[str]
    previews: Sequence[Preview]
    complaints: Sequence[str]
    """Why the plan does not hold, in sentences."""
    notes: Sequence[str] = ()
    """What the files hold that is not planned."""


def value(planned: PlannedSets | None) -> dict[str, Any]:
    """Without files there is nothing to plan."""
    if planned is None:
        return {"files": [], "complaints": [], "notes": [], "nodes": []}
    return {
        "files": [wording.message(one) for one in planned.files],
        "complaints": [wording.message(one) for one in planned.complaints],
        "notes": [wording.message(one) for one in planned.notes],
        "nodes": [_node(one) for one in planned.previews],
    }


def _node(one: Preview) -> dict[str, Any]:
    return {
        "node": one.node_name,
        "sets": list(one.set_names),
        "added": len(one.added),
        "before": len(one.wanted_before),
        "toPull": len(one.to_pull),
        "images": [
            {
                "name": wording.image(key.image),
                "handler": wording.message(key.runtime_handler),
                "isAdded": key in one.added,
            }
            for key in one.to_pull[:IMAGES_MAX]
        ],
        "downloadBytes": one.pull_bytes,
        "isAtLeast": bool(one.unknown),
        "freeBytes": one.free_bytes,
        "freeAfterBytes": one.free_after_bytes,
        "problems": [
            *(wording.message(text) for text in one.refusals),
            *(wording.message(failure.message) for failure in one.unavailable),
            *((wording.message(one.space_problem),) if one.space_problem and one.missing else ()),
        ],
    }
