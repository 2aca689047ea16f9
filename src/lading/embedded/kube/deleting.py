"""Deletion of an object: at once, or marked until its finalizers are removed.

The collector deletes dependents. A pod on a node with a kubelet is marked until the kubelet deletes
it without a grace period; any other pod is deleted at once.
"""

from datetime import UTC, timedelta
from typing import Any

import msgspec

from lading.embedded.kube import bodies, definitions, protobuf, requests, status
from lading.embedded.kube.requests import Call
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import causes
from lading.embedded.kube.state import State

Document = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
POLICIES = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}
"""The propagation policies, and the finalizers that tell them to the collector."""


_KIND = "DeleteOptions"
_DEFINITION = f"io.k8s.apimachinery.pkg.apis.meta.v1.{_KIND}"
_JOBS = "jobs.batch"
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_SUPPORTED = ("Foreground", "Background", "Orphan", "nil")


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    policy: str = ""
    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    """For a pod; None means the period of its spec."""
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
    """Removes a finalizer, and the object if that was the last one."""
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
    """The grace period of a pod; 0 on a node without a kubelet and for finished pods."""
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
    """A given policy replaces the policy of an earlier request."""
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


class _Preconditions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _Options(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str = _KIND
    grace_period_seconds: int | None = None
    """Used only for pods on a node with a kubelet."""
    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: list[str] | None = None


def deletion_of(call: Call) -> Deletion:
    """The options of a deletion, from the body and the query; raises if they cannot be read."""
    options = _read(call)
    in_query = call.number("gracePeriodSeconds") if "gracePeriodSeconds" in call.query else None
    preconditions = options.preconditions or _Preconditions()
    dry_run = requests.check_dry_run(options.dry_run or [], _KIND)
    return Deletion(
        policy=_policy(options, call),
        uid=preconditions.uid or "",
        resource_version=preconditions.resource_version or "",
        grace_seconds=(
            in_query if options.grace_period_seconds is None else options.grace_period_seconds
        ),
        dry_run=dry_run or requests.is_dry_run(call, _KIND),
    )


def _policy(options: _Options, call: Call) -> str:
    policy = options.propagation_policy or call.query.get("propagationPolicy", "")
    orphan = options.orphan_dependents
    if orphan is not None and policy:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        cause = causes.invalid("propagationPolicy", policy, detail)
        raise status.invalid_options(_KIND, [cause])
    if orphan is not None:
        return "Orphan" if orphan else "Background"
    if policy and policy not in POLICIES:
        cause = causes.not_supported("propagationPolicy", policy, _SUPPORTED)
        raise status.invalid_options(_KIND, [cause])
    if not policy and call.resource.storage_name == _JOBS:
        call.warnings.append(_PODS_STAY)
        return "Orphan"
    return policy


def _read(call: Call) -> _Options:
    if not call.body.strip():
        return _Options()
    try:
        options = msgspec.convert(_value(call), _Options)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"the body of a deletion is no {_KIND}: {error}") from None
    if options.kind not in ("", _KIND):
        raise status.bad_request(f"the body of a deletion must be {_KIND}, not {options.kind}")
    return options


def _value(call: Call) -> Any:
    try:
        match bodies.media_type(call.headers):
            case protobuf.MEDIA_TYPE:
                return protobuf.document(call.body, _DEFINITION)
            case "application/yaml":
                return bodies.yaml_value(call.body)
            case _:
                return bodies.json_value(call.body)
    except (protobuf.Malformed, bodies.Unreadable) as error:
        raise status.bad_request(f"the body of a deletion is no {_KIND}: {error}") from None
