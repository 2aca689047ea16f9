"""POST of a review: a question about the client's user, answered at once and not stored.

Every known user may do everything, so a question about rights has one answer.
"""

from typing import Any

from lading.ports.http import Response
from lading.servers.kube import admitting, answers, fields, requests, status
from lading.servers.kube.requests import Call
from lading.servers.kube.schema import causes
from lading.servers.kube.state import Document, State

_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(state: State, call: Call) -> Response:
    asked = fields.sent(call, requests.write_options(call, "CreateOptions"))
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
