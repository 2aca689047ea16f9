"""PUT of an object over the one that is there."""

from lading.ports.http import Response
from lading.servers.kube import answers, fields, metadata, requests, status, writing
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes
from lading.servers.kube.state import Document, State
from lading.servers.kube.verbs import get


def update(state: State, call: Call) -> Response:
    options = requests.write_options(call, "UpdateOptions")
    document = fields.sent(call, options)
    metadata.check_place(call, document)
    old = get.existing(state, call)
    _check_has_version(call, document)
    return answers.one(state, call, writing.update(state, call, options, old, document))


def _check_has_version(call: Call, document: Document) -> None:
    """A custom resource is never overwritten by a client that has not read it."""
    if call.resource.custom and not document["metadata"].get("resourceVersion"):
        cause = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid(
            group=call.resource.group,
            kind=call.resource.plural,
            name=call.target.name,
            found=[cause],
        )
