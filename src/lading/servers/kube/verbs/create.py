"""POST of an object into a collection."""

from lading.ports.http import Response
from lading.servers.kube import answers, fields, metadata, requests, writing
from lading.servers.kube.requests import Call
from lading.servers.kube.state import State


def create(state: State, call: Call) -> Response:
    options = requests.write_options(call, "CreateOptions")
    document = fields.sent(call, options)
    metadata.check_place(call, document)
    return answers.one(state, call, writing.create(state, call, options, document), code=201)
