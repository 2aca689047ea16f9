"""DELETE of one object, or of every object of a collection that is selected."""

from lading.ports.http import Response
from lading.servers.kube import (
    admitting,
    answers,
    delete_options,
    deleting,
    namespaces,
    status,
)
from lading.servers.kube.requests import Call
from lading.servers.kube.state import Document, State
from lading.servers.kube.verbs import get, lists


def delete(state: State, call: Call) -> Response:
    deletion = delete_options.of(call)
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
    deletion = delete_options.of(call)
    page = lists.page(state, call)
    for listed in page.documents:
        document = _as_it_is_now(state, call, listed)
        if document is None:
            continue
        admitting.check(state, call, dry_run=deletion.dry_run, old=document, new=None)
        deleting.delete(state, call.resource, document, deletion)
    return answers.many(state, call, page.documents, lists.metadata(call, page))


def _as_it_is_now(state: State, call: Call, listed: Document) -> Document | None:
    """A later page shows the revision of the first one, and what is deleted is of today."""
    metadata = listed["metadata"]
    return state.find(call.resource, metadata.get("namespace", ""), metadata["name"])
