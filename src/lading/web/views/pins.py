"""Pinned images: nodes, sets, and what is wrong with them.

The rows are those of `lading pin status`.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from lading.api.core import RuntimeClass
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images import claims
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.reasons import Reason
from lading.pinned_images.rows import Row, RowState
from lading.web.following import ShownNode
from lading.web.views import wording
from lading.web.views.wording import ShownProblem, Urgency

PROBLEMS_MAX = 100  # groups of nodes with the same reason; more is one cause with many texts
NAMES_IN_A_TITLE_MAX = 3
_NEEDS_SPACE = (Reason.INSUFFICIENT_STORAGE, Reason.NO_SPACE, Reason.DISK_PRESSURE)
_URGENCIES = {
    RowState.FAILED: Urgency.ERROR,
    RowState.WAITING: Urgency.WARNING,
    RowState.NO_NODES: Urgency.NOTE,
}


def node_value(
    name: str, node: ShownNode | None, found: Sequence[Row], pool: str
) -> dict[str, Any]:
    """Cells are lists to save bytes: a large cluster has fifty thousand of them."""
    listed = node.status.images if node else ()
    return {
        "pool": pool,
        "ready": _readiness(node),
        "images": len(listed),
        "imageBytes": sum(one.size_bytes for one in listed),
        "cells": {
            row.set: (row.state, row.present, row.images, row.missing_bytes, row.generation)
            for row in found
        },
    }


def _readiness(node: ShownNode | None) -> str:
    if node is None:
        return "Unknown"
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    return {Truth.TRUE: "Ready", Truth.FALSE: "NotReady"}.get(
        ready.status if ready else Truth.UNKNOWN, "Unknown"
    )


def set_value(image_set: PinnedImageSet, pools: Iterable[str]) -> dict[str, Any]:
    status = image_set.status
    return {
        "generation": image_set.metadata.generation,
        "created": image_set.metadata.creation_timestamp,
        "images": len(image_set.spec.pinned_images),
        "pools": sorted(pools),
        "nodes": status.node_count,
        "ready": status.ready_node_count,
        "failed": status.failed_node_count,
    }


def set_detail(image_set: PinnedImageSet) -> dict[str, Any]:
    return {
        "name": image_set.metadata.name,
        "generation": image_set.metadata.generation,
        "created": image_set.metadata.creation_timestamp,
        "images": [
            {"name": wording.image(one.name), "runtimeClasses": list(one.runtime_class_names)}
            for one in image_set.spec.pinned_images
        ],
        "conditions": [condition_value(one) for one in image_set.status.conditions],
    }


def condition_value(one: Condition) -> dict[str, Any]:
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": wording.message(one.message),
        "since": one.last_transition_time,
    }


def cell_detail(
    row: Row, report: MachineConfigNode | None, image_set: PinnedImageSet | None
) -> dict[str, Any]:
    entries = claims.reported(report) if report else ()
    entry = next((one for one in entries if one.name == row.set), None)
    return {
        "node": row.node,
        "pool": row.pool,
        "set": row.set,
        "state": row.state,
        "generation": row.generation,
        "images": row.images,
        "present": row.present,
        "missingBytes": row.missing_bytes,
        "detail": wording.message(row.detail),
        "failedGeneration": entry.last_failed_generation if entry else 0,
        "errors": [
            wording.message(one) for one in (entry.last_failed_generation_errors if entry else ())
        ],
        "conditions": [
            condition_value(one)
            for one in (report.status.conditions if report else ())
            if one.type.startswith("PinnedImageSets")
        ],
        "isLive": row.is_live,
        "source": "settled" if row.is_settled else "status",
        "bytesDone": row.bytes_done,
        "bytesTotal": row.bytes_total,
        "bytesPerSecond": row.bytes_per_second,
        "endsAt": row.ends_at,
        "attempt": row.attempt,
        "nextTry": row.next_pull_time,
        "setExists": image_set is not None,
    }


def problem_rows(found: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(row for row in found if row.needs_detail)


def problems(found: Iterable[Row]) -> list[ShownProblem]:
    """Joins equal reports of several nodes, even if their retry times differ."""
    groups: dict[tuple[Urgency, str, str], list[Row]] = {}
    for row in found:
        urgency = _URGENCIES.get(row.state)
        if urgency is not None and row.needs_detail:
            groups.setdefault((urgency, row.set, row.last_error or row.detail), []).append(row)
    first = sorted(groups, key=lambda one: (one[0], -len(groups[one]), one[1:]))[:PROBLEMS_MAX]
    return [_problem(*one, groups[one]) for one in first]


def _problem(urgency: Urgency, name: str, detail: str, found: Sequence[Row]) -> ShownProblem:
    nodes = sorted(filter(None, (row.node for row in found)))
    if urgency is Urgency.ERROR:
        title = f"{name} is not pinned on {_names(nodes)}"
        command, purpose = _remedy(found[0].reason, name, nodes)
    elif urgency is Urgency.WARNING:
        title = f"{name} is not reported by {_names(nodes)}" if nodes else f"{name} is waiting"
        command = _pods_command("agent" if nodes else "controller")
        purpose = "Show whether the agents run" if nodes else "Show whether the controller runs"
    else:
        title = f"{name} is on no node"
        command = wording.command("lading", "get", "mcp")
        purpose = "Show the pools; one of them must select the set"
    return ShownProblem(
        key=f"pins/{name}/{urgency}/{_fingerprint(detail)}",
        feature="pins",
        urgency=urgency,
        title=title,
        detail=wording.message(detail),
        command=command,
        purpose=purpose,
        link=f"#/pins?{urlencode({'set': name})}",
    )


def _remedy(reason: str, name: str, nodes: Sequence[str]) -> tuple[str, str]:
    """The command that fixes the problem, and what it does; else the command that shows more."""
    if reason in _NEEDS_SPACE:
        return "lading image gc --all", "Free space: run it on the node as root; --confirm deletes"
    if reason == Reason.PREFETCH_FAILED:
        command = wording.command("kubectl", "edit", "pinnedimageset", name)
        return command, "Correct the image in the set, if its registry does not have it"
    command = wording.command("lading", "pin", "status", name, *_node_options(nodes))
    return command, "Show the progress and the errors"


def _fingerprint(detail: str) -> str:
    """A stable key of the text. The text itself may contain a secret."""
    return hashlib.sha256(detail.encode()).hexdigest()[:16]


def _names(nodes: Sequence[str]) -> str:
    shown = ", ".join(nodes[:NAMES_IN_A_TITLE_MAX])
    more = len(nodes) - NAMES_IN_A_TITLE_MAX
    return f"{shown} and {wording.counted(more, 'more node')}" if more > 0 else shown


def _node_options(nodes: Sequence[str]) -> tuple[str, ...]:
    return ("--node", nodes[0]) if len(nodes) == 1 else ()


def _pods_command(component: str) -> str:
    label = f"app.kubernetes.io/name=lading,app.kubernetes.io/component={component}"
    return f"kubectl get pods -A -o wide -l {label}"


def summary(counts: Mapping[RowState, int], sets: int) -> tuple[str, str]:
    """The state as one word, and as a sentence."""
    if not sets:
        return "empty", "There is no PinnedImageSet."
    total = sum(counts.values())
    if not total:
        return "empty", f"{wording.counted(sets, 'set')}, but no node gets one."
    parts = [
        f"{counts[state]:,} {state.lower()}"
        for state in (RowState.FAILED, RowState.WAITING, RowState.PULLING)
        if counts.get(state)
    ]
    pinned = counts.get(RowState.PINNED, 0)
    text = f"{pinned:,} of {wording.counted(total, 'pair')} of node and set are pinned"
    state = "ok" if pinned == total else "error" if counts.get(RowState.FAILED) else "busy"
    return state, f"{', '.join((text, *parts))}."


def count(found: Iterable[Row]) -> Counter[RowState]:
    return Counter(row.state for row in found)


Pinned = Mapping[str, list[tuple[str, frozenset[str]]]]
"""Digest -> the sets that list it, each with its runtime handlers."""


def sets_by_digest(
    image_sets: Iterable[PinnedImageSet], classes: Iterable[RuntimeClass] = ()
) -> Pinned:
    handlers = {one.metadata.name: one.handler for one in classes}
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for image_set in image_sets:
        for one in image_set.spec.pinned_images:
            wanted = frozenset(handlers.get(name, name) for name in one.runtime_class_names)
            entry = image_set.metadata.name, wanted or frozenset(("",))
            found.setdefault(one.name.rpartition("@")[2], []).append(entry)
    return found


def node_detail(node: ShownNode, pinned: Pinned) -> dict[str, Any]:
    images = sorted(node.status.images, key=lambda one: -one.size_bytes)
    return {
        "name": node.metadata.name,
        "images": [
            {
                "names": [wording.image(name) for name in one.names],
                "sizeBytes": one.size_bytes,
                "sets": sets_of_image(one.names, pinned),
            }
            for one in images
        ],
    }


def sets_of_image(names: Iterable[str], pinned: Pinned, handlers: Iterable[str] = ()) -> list[str]:
    """The sets that list the image by digest, for one of the handlers if there are any."""
    digests = (name.rpartition("@")[2] for name in names if "@" in name)
    entries = (entry for digest in digests for entry in pinned.get(digest, ()))
    wanted = frozenset(handlers)
    return sorted({name for name, named in entries if not wanted or named & wanted})


def runtime_class_summary(image_sets: Iterable[PinnedImageSet]) -> tuple[str, str]:
    entries = [one for each in image_sets for one in each.spec.pinned_images]
    with_class = [one for one in entries if one.runtime_class_names]
    classes = sorted({name for one in with_class for name in one.runtime_class_names})
    if not classes:
        return "empty", "No set names a runtime class; all images are for the default runtime."
    images = (
        "1 image of a set is" if len(with_class) == 1 else f"{len(with_class):,} images of sets are"
    )
    word = "class" if len(classes) == 1 else "classes"
    return "ok", f"{images} for the runtime {word} {', '.join(classes)}."


IMAGES_MAX = 200  # of a node, to look at; the number is that of all


class PlannedSets(msgspec.Struct, frozen=True, kw_only=True):
    files: Sequence[str]
    previews: Sequence[Preview]
    complaints: Sequence[str]
    """Why the plan would fail, as sentences."""
    notes: Sequence[str] = ()
    """Objects of the files that the plan ignores."""


def plan_value(planned: PlannedSets | None) -> dict[str, Any]:
    """The value of the page if there are no files."""
    if planned is None:
        return {"files": [], "complaints": [], "notes": [], "nodes": []}
    return {
        "files": [wording.message(one) for one in planned.files],
        "complaints": [wording.message(one) for one in planned.complaints],
        "notes": [wording.message(one) for one in planned.notes],
        "nodes": [_planned_node(one) for one in planned.previews],
    }


def _planned_node(one: Preview) -> dict[str, Any]:
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
