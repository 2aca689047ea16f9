"""POST of an object into a collection."""

from lading.ports.http import Response
from lading.servers.kube import answers, bodies, fields, metadata, requests, writing
from lading.servers.kube.requests import Call
from lading.servers.kube.state import State


def create(state: State, call: Call) -> Response:
    options = requests.write_options(call, "CreateOptions")
    document = bodies.document(call.body, bodies.media_type(call.headers), call.resource)
    document = fields.known(
        call.resource,
        document,
        validation=options.field_validation,
        warnings=call.warnings,
    )
    metadata.check_place(call, document)
    return answers.one(state, call, writing.create(state, call, options, document), code=201)
