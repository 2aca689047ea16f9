"""The verbs on one object: create, get, update and delete; deleting a collection; reviews.

A review is answered at once and never stored. RBAC is not enforced, so every user is allowed
everything.
"""

from typing import Any

from lading.embedded.kube import (
    admitting,
    answers,
    bodies,
    deleting,
    metadata,
    requests,
    status,
    writing,
)
from lading.embedded.kube.requests import Call
from lading.embedded.kube.schema import causes
from lading.embedded.kube.state import Document, State
from lading.embedded.kube.verbs import lists
from lading.ports.http import Response

_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def create(state: State, call: Call) -> Response:
    options = requests.write_options(call, "CreateOptions")
    document = bodies.sent(call, options)
    metadata.check_place(call, document)
    return answers.one(state, call, writing.create(state, call, options, document), code=201)


def get(state: State, call: Call) -> Response:
    asked = requests.revision_of(call.query.get("resourceVersion", ""))
    if asked > state.storage.revision:
        raise status.revision_is_in_the_future(asked=asked, current=state.storage.revision)
    return answers.one(state, call, existing(state, call))


def existing(state: State, call: Call) -> Document:
    """The object that the path names, or the 404."""
    resource, target = call.resource, call.target
    found = state.find(resource, target.namespace, target.name)
    if found is None:
        raise status.not_found(group=resource.group, plural=resource.plural, name=target.name)
    return found


def update(state: State, call: Call) -> Response:
    options = requests.write_options(call, "UpdateOptions")
    document = bodies.sent(call, options)
    metadata.check_place(call, document)
    old = existing(state, call)
    _check_has_version(call, document)
    return answers.one(state, call, writing.update(state, call, options, old, document))


def _check_has_version(call: Call, document: Document) -> None:
    """An update of a custom resource must name the version that the client read."""
    if call.resource.custom and not document["metadata"].get("resourceVersion"):
        cause = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid(
            group=call.resource.group,
            kind=call.resource.plural,
            name=call.target.name,
            found=[cause],
        )


def delete(state: State, call: Call) -> Response:
    deletion = deleting.deletion_of(call)
    old = existing(state, call)
    metadata.check_may_go(call)
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
    """A collection can be deleted in one namespace, not in all of them."""
    in_one_scope = bool(call.target.namespace) or not call.resource.namespaced
    return in_one_scope and "deletecollection" in call.resource.verbs


def delete_collection(state: State, call: Call) -> Response:
    deletion = deleting.deletion_of(call)
    page = lists.page(state, call)
    for listed in page.documents:
        document = _as_it_is_now(state, call, listed)
        if document is None:
            continue
        admitting.check(state, call, dry_run=deletion.dry_run, old=document, new=None)
        deleting.delete(state, call.resource, document, deletion)
    return answers.many(state, call, page.documents, lists.metadata(call, page))


def _as_it_is_now(state: State, call: Call, listed: Document) -> Document | None:
    """The current object: a later page lists objects of an older revision."""
    metadata = listed["metadata"]
    return state.find(call.resource, metadata.get("namespace", ""), metadata["name"])


def review(state: State, call: Call) -> Response:
    asked = bodies.sent(call, requests.write_options(call, "CreateOptions"))
    spec = asked.get("spec") or {}
    match call.resource.kind:
        case "SelfSubjectReview":
            metadata = {"creationTimestamp": state.now()}
            return _answer(call, {**asked, "metadata": metadata}, {"userInfo": _user(call)})
        case "SelfSubjectAccessReview":
            _check_one_thing_is_asked(call, spec)
            return _answer(call, asked, {"allowed": True})
        case _:
            if not spec.get("namespace"):
                raise status.bad_request("no namespace on request")
            return _answer(call, asked, _EVERYTHING)


def _answer(call: Call, asked: Document, found: dict[str, Any]) -> Response:
    return answers.body(call, {**asked, "status": found}, code=201)


def _user(call: Call) -> Document:
    return {key: value for key, value in admitting.user_info(call).items() if value}


def _check_one_thing_is_asked(call: Call, spec: Document) -> None:
    resource, of_resource = call.resource, spec.get("resourceAttributes")
    of_path = spec.get("nonResourceAttributes")
    if bool(of_resource) != bool(of_path):
        return
    if of_path:
        detail = "cannot be specified in combination with resourceAttributes"
        cause = causes.invalid("spec.nonResourceAttributes", of_path, detail)
    else:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = causes.invalid("spec.resourceAttributes", of_resource, detail)
    raise status.invalid(group=resource.group, kind=resource.kind, name="", found=[cause])
