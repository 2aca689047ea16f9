"""DELETE of one object, or of every object of a collection that is selected."""

from typing import Any

from lading.ports.http import Response
from lading.servers.kube import (
    admitting,
    answers,
    bodies,
    deleting,
    namespaces,
    requests,
    selection,
    status,
)
from lading.servers.kube.deleting import Deletion
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes
from lading.servers.kube.state import State
from lading.servers.kube.verbs import get

_OPTIONS = "DeleteOptions"


def delete(state: State, call: Call) -> Response:
    deletion = _deletion(call)
    old = get.existing(state, call)
    namespaces.check_may_go(call)
    admitting.check(state, call, dry_run=deletion.dry_run, old=old, new=None)
    resource = call.resource
    document, gone = deleting.delete(state, resource, old, deletion)
    if not gone or resource.storage_name == "pods":
        return answers.one(state, call, document)
    succeeded = status.success(
        group=resource.group,
        plural=resource.plural,
        name=call.target.name,
        uid=document["metadata"]["uid"],
    )
    return answers.body(call, succeeded)


def may_delete_collection(call: Call) -> bool:
    """Never in all namespaces at once."""
    in_one_scope = bool(call.target.namespace) or not call.resource.namespaced
    return in_one_scope and "deletecollection" in call.resource.verbs


def delete_collection(state: State, call: Call) -> Response:
    deletion = _deletion(call)
    wanted = selection.of(call.resource, call.query)
    chosen = [
        each for each in state.every(call.resource, call.target.namespace) if wanted.matches(each)
    ]
    for document in chosen:
        admitting.check(state, call, dry_run=deletion.dry_run, old=document, new=None)
        deleting.delete(state, call.resource, document, deletion)
    metadata = {"resourceVersion": str(state.storage.revision)}
    return answers.many(state, call, chosen, metadata)


def _deletion(call: Call) -> Deletion:
    """The options, from the body when it has any, else from the query."""
    options = _body(call)
    preconditions = options.get("preconditions") or {}
    policy = options.get("propagationPolicy") or call.query.get("propagationPolicy", "")
    orphan = options.get("orphanDependents")
    if orphan is not None and policy:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        cause = causes.invalid("propagationPolicy", policy, detail)
        raise status.invalid_options(_OPTIONS, [cause])
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy and policy not in deleting.POLICIES:
        supported = ("Foreground", "Background", "Orphan", "nil")
        cause = causes.not_supported("propagationPolicy", policy, supported)
        raise status.invalid_options(_OPTIONS, [cause])
    dry_run = requests.check_dry_run(options.get("dryRun") or [], _OPTIONS)
    return Deletion(
        policy=policy,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=dry_run or requests.is_dry_run(call, _OPTIONS),
    )


def _body(call: Call) -> dict[str, Any]:
    if not call.body.strip():
        return {}
    try:
        found = bodies.json_value(call.body)
    except bodies.Unreadable as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("preconditions") or {}, dict):
        raise status.bad_request("the options of a deletion must be a DeleteOptions object")
    if found.get("kind", _OPTIONS) != _OPTIONS:
        raise status.bad_request(f"the body of a deletion must be {_OPTIONS}, not {found['kind']}")
    return found
