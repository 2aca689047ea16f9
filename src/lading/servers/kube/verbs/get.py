"""GET of one object, or of its status."""

from lading.ports.http import Response
from lading.servers.kube import answers, requests, status
from lading.servers.kube.requests import Call
from lading.servers.kube.state import Document, State


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
