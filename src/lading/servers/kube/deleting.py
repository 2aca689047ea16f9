"""What deleting an object means: gone at once, or marked until its finalizers are done.

Dependents are the collector's. A pod on a node with a kubelet is marked until the kubelet deletes
it without a grace period; any other pod is gone at once.
"""

from datetime import UTC, timedelta
from typing import Any

import msgspec

from lading.servers.kube import definitions, status
from lading.servers.kube.resources import Resource
from lading.servers.kube.state import State

Document = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
POLICIES = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}
"""The propagation policies, and the finalizer by which the collector knows them."""


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    policy: str = ""
    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    """For a pod; None is what its spec says."""
    dry_run: bool = False


def delete(
    state: State, resource: Resource, document: Document, deletion: Deletion
) -> tuple[Document, bool]:
    """Returns the object after the deletion and whether it is gone."""
    _check_preconditions(resource, document, deletion)
    marked = _marked(state, resource, document, deletion)
    if deletion.dry_run:
        return marked, is_finished(marked)
    if is_finished(marked):
        return finish(state, resource, marked), True
    return (document if marked == document else state.put(resource, marked)), False


def is_finished(document: Document) -> bool:
    """Marked for deletion, without finalizers, and without a grace period that runs."""
    metadata = document["metadata"]
    held = (
        metadata.get("finalizers")
        or _namespace_finalizers(document)
        or metadata.get("deletionGracePeriodSeconds")
    )
    return "deletionTimestamp" in metadata and not held


def finish(state: State, resource: Resource, document: Document) -> Document:
    return state.remove(resource, document)


def release(state: State, resource: Resource, document: Document, finalizer: str) -> None:
    """Takes a finalizer off, and the object with it when that was the last."""
    left = [each for each in document["metadata"].get("finalizers", []) if each != finalizer]
    metadata = {**document["metadata"], "finalizers": left}
    if not left:
        del metadata["finalizers"]
    released = {**document, "metadata": metadata}
    if is_finished(released):
        finish(state, resource, released)
    else:
        state.put(resource, released)


def _check_preconditions(resource: Resource, document: Document, deletion: Deletion) -> None:
    metadata = document["metadata"]
    if deletion.uid and deletion.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({deletion.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
    elif deletion.resource_version and deletion.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({deletion.resource_version}) does not match "
            f"the ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified"
        )
    else:
        return
    raise status.conflict(
        group=resource.group, plural=resource.kind, name=metadata["name"], why=why
    )


def _marked(state: State, resource: Resource, document: Document, deletion: Deletion) -> Document:
    metadata = dict(document["metadata"])
    is_simple = resource.storage_name not in ("namespaces", definitions.STORAGE_NAME)
    grace_seconds = _grace_seconds(state, resource, document, deletion)
    if grace_seconds < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionTimestamp"] = _later(state, grace_seconds)
        metadata["deletionGracePeriodSeconds"] = grace_seconds
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = _later(state, grace_seconds)
        if is_simple:
            metadata["deletionGracePeriodSeconds"] = grace_seconds
        if is_simple and "generation" in metadata:
            metadata["generation"] += 1
    metadata["finalizers"] = _finalizers(metadata.get("finalizers", []), deletion.policy)
    if not metadata["finalizers"]:
        del metadata["finalizers"]
    marked = {**document, "metadata": metadata}
    if resource.storage_name == "namespaces":
        marked["status"] = {**document.get("status", {}), "phase": "Terminating"}
    return (
        definitions.leaving(marked, state.now()) if definitions.is_definition(resource) else marked
    )


def _grace_seconds(state: State, resource: Resource, document: Document, deletion: Deletion) -> int:
    """How long a pod may take to end; 0 where nothing runs that must end."""
    if resource.storage_name != "pods":
        return 0
    spec, phase = document.get("spec") or {}, (document.get("status") or {}).get("phase")
    if spec.get("nodeName") not in state.kubelets or phase in ("Succeeded", "Failed"):
        return 0
    if deletion.grace_seconds is not None:
        return max(deletion.grace_seconds, 0)
    before = document["metadata"].get("deletionGracePeriodSeconds")
    wanted: int = spec.get("terminationGracePeriodSeconds", 0) if before is None else before
    return wanted


def _later(state: State, seconds: int) -> str:
    at = state.clock.now().astimezone(UTC) + timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _finalizers(present: list[str], policy: str) -> list[str]:
    """An explicit policy replaces the one an earlier request asked for."""
    wanted = POLICIES.get(policy)
    if wanted is None:
        return present
    others = [each for each in present if each not in (FOREGROUND, ORPHAN)]
    return [*others, wanted] if wanted else others


def _namespace_finalizers(document: Document) -> list[str]:
    if document["kind"] != "Namespace":
        return []
    found: list[str] = document.get("spec", {}).get("finalizers", [])
    return found
