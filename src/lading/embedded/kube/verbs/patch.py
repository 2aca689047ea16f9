"""PATCH of an object: JSON patch, merge patch, strategic merge patch, server-side apply."""

from typing import Any

from lading.embedded.kube import (
    answers,
    bodies,
    metadata,
    patches,
    requests,
    status,
    writing,
)
from lading.embedded.kube.applying import server_side
from lading.embedded.kube.applying.paths import ApplyConflict, ApplyError
from lading.embedded.kube.requests import Call, WriteOptions
from lading.embedded.kube.schema import causes, structural
from lading.embedded.kube.state import Document, State
from lading.embedded.kube.verbs import objects
from lading.ports.http import Response

_JSON = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"


def patch(state: State, call: Call) -> Response:
    media_type = bodies.media_type(call.headers)
    accepted = _accepted(call)
    if media_type not in accepted:
        raise status.unsupported_media_type(accepted)
    options = requests.write_options(call, "PatchOptions")
    if media_type == _APPLY:
        return _apply(state, call, options)
    _refuse_force(call)
    old = objects.existing(state, call)
    patched = _patched(call, media_type, old)
    _refuse_another_identity(call, old, patched)
    try:
        known = bodies.known(call, options, bodies.of_kind(patched, call.resource))
    except status.ApiError as error:
        raise status.unprocessable(str(error)) from None  # the patch can be read, but does not fit
    metadata.check_place(call, known)
    return answers.one(state, call, writing.update(state, call, options, old, known))


def _refuse_force(call: Call) -> None:
    if "force" in call.query:
        cause = causes.forbidden("force", "may not be specified for non-apply patch")
        raise status.invalid_options("PatchOptions", [cause])


def _refuse_another_identity(call: Call, old: Document, patched: Document) -> None:
    """A patch may not set another uid; an update with another uid is a conflict instead."""
    given = patched.get("metadata")
    uid = given.get("uid", "") if isinstance(given, dict) else ""
    if uid not in ("", old["metadata"]["uid"]):
        resource, cause = call.resource, causes.invalid("metadata.uid", uid, "field is immutable")
        raise status.invalid(
            group=resource.group, kind=resource.kind, name=call.target.name, found=[cause]
        )


def _accepted(call: Call) -> tuple[str, ...]:
    """Custom resources have no merge keys, so they have no strategic merge patch."""
    if call.resource.custom:
        return (_JSON, _MERGE, _APPLY)
    return (_JSON, _MERGE, _STRATEGIC, _APPLY)


def _patched(call: Call, media_type: str, old: Document) -> Document:
    change = _change(call.body)
    try:
        match media_type:
            case "application/json-patch+json":
                return patches.apply_json(old, change)
            case "application/merge-patch+json":
                return patches.apply_merge(old, change)
            case _:
                return patches.apply_strategic(call.resource.schema, old, change)
    except patches.PatchError as error:
        if error.code == 422:
            raise status.unprocessable(error.message) from None
        raise status.bad_request(error.message) from None


def _change(body: bytes) -> Any:
    try:
        return bodies.json_value(body)
    except bodies.Unreadable as error:
        raise status.bad_request(f"error decoding patch: {error}") from None


def _apply(state: State, call: Call, options: WriteOptions) -> Response:
    if not call.query.get("fieldManager"):
        cause = causes.required("fieldManager", "is required for apply patch")
        raise status.invalid_options("PatchOptions", [cause])
    applied = _applied(call)
    resource, target = call.resource, call.target
    live = state.find(resource, target.namespace, target.name)
    if live is not None:
        applied["metadata"].setdefault("name", target.name)
    metadata.check_place(call, applied)
    if resource.has_status and not target.subresource:
        applied.pop("status", None)
    if live is None and target.subresource:
        raise status.not_found(group=resource.group, plural=resource.plural, name=target.name)
    merged = _without_nulls(call, _merged(state, call, options, live, applied))
    if live is None:
        if applied["metadata"].get("resourceVersion") or applied["metadata"].get("uid"):
            raise status.conflict(
                group=resource.group,
                plural=resource.plural,
                name=target.name,
                why="the object to be applied to does not exist",
            )
        created = writing.create(state, call, options, merged, owned=True)
        return answers.one(state, call, created, code=201)
    updated = writing.update(state, call, options, live, merged, owned=True)
    return answers.one(state, call, updated)


def _without_nulls(call: Call, merged: Document) -> Document:
    """A field that is applied as null, or emptied by its manager, is null in a custom resource.

    kube-apiserver refuses it there, and reads it as empty in a built-in kind.
    """
    resource = call.resource
    if not resource.custom:
        filled: Document = structural.fill_nulls(resource.schema, merged)
        return filled
    found = list(structural.refused_nulls(resource.schema, merged))
    if found:
        raise status.invalid(
            group=resource.group, kind=resource.kind, name=call.target.name, found=found
        )
    return merged


def _applied(call: Call) -> Document:
    try:
        found = bodies.yaml_value(call.body)
    except bodies.Unreadable as error:
        raise status.bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(found, dict) or not found.get("kind") or not found.get("apiVersion"):
        raise status.bad_request("invalid object type: /, Kind=")
    return bodies.of_kind(found, call.resource)


def _merged(
    state: State, call: Call, options: WriteOptions, live: Document | None, applied: Document
) -> Document:
    try:
        return server_side.apply(
            call.resource.schema,
            live,
            applied,
            manager=options.manager,
            subresource=call.target.subresource,
            force=options.force,
            api_version=call.resource.api_version,
            now=state.now(),
        )
    except ApplyConflict as error:
        raise status.apply_conflict(error.message, error.causes) from None
    except ApplyError as error:
        reason = "BadRequest" if error.code == 400 else ""
        raise status.ApiError(code=error.code, reason=reason, message=error.message) from None
