"""Every refusal becomes the one error that says it, with the server's own words."""

import pytest

from lading.adapters.kube import errors
from lading.ports import kube
from lading.ports.kube import KubeError


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", kube.Invalid),
        (401, "Unauthorized", kube.Unauthorized),
        (403, "Forbidden", kube.Forbidden),
        (404, "NotFound", kube.NotFound),
        (405, "MethodNotAllowed", KubeError),
        (409, "AlreadyExists", kube.AlreadyExists),
        (409, "Conflict", kube.Conflict),
        (410, "Expired", kube.Gone),
        (410, "Gone", kube.Gone),
        (413, "RequestEntityTooLarge", kube.Invalid),
        (422, "Invalid", kube.Invalid),
        (429, "TooManyRequests", kube.TooManyRequests),
        (500, "InternalError", kube.Unavailable),
        (504, "Timeout", kube.Unavailable),
    ],
)
def test_a_code_and_a_reason_choose_the_error(
    code: int, reason: str, expected: type[KubeError]
) -> None:
    body = f'{{"kind":"Status","code":{code},"reason":"{reason}","message":"so it is"}}'.encode()
    error = errors.of_response(what="GET /x", code=code, body=body)
    assert type(error) is expected
    assert (error.message, error.code, error.reason) == ("so it is", code, reason)


def test_causes_name_the_fields() -> None:
    body = b"""{"kind":"Status","code":422,"reason":"Invalid","message":"m","details":{"causes":
        [{"reason":"FieldValueRequired","message":"Required value","field":"spec.a"}]}}"""
    error = errors.of_response(what="POST /x", code=422, body=body)
    cause = kube.Cause(reason="FieldValueRequired", message="Required value", field="spec.a")
    assert error.causes == (cause,)


def test_an_expired_list_says_where_the_rest_begins() -> None:
    body = b'{"kind": "Status", "message": "m", "reason": "Expired", "metadata": {"continue": "t"}}'
    found = errors.of_response(what="GET /", code=410, body=body)
    assert isinstance(found, kube.Gone)
    assert found.continue_token == "t"


@pytest.mark.parametrize(
    "body",
    [b'{"kind":"Status","message":"\xff"}', b'{"deep":' + b"[" * 9000 + b"]" * 9000 + b"}"],
    ids=["no UTF-8", "deep"],
)
def test_an_answer_that_cannot_be_read_still_has_its_code(body: bytes) -> None:
    error = errors.of_response(what="GET /api", code=403, body=body)
    assert type(error) is kube.Forbidden


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"[]", b'{"kind":"Other"}'])
def test_an_answer_that_is_no_status_is_shown_with_the_request(body: bytes) -> None:
    error = errors.of_response(what="GET /api", code=502, body=body)
    assert isinstance(error, kube.Unavailable)
    assert error.message.startswith("GET /api: the server answered 502 with ")
    assert body.decode() in error.message


def test_a_hostile_answer_cannot_flood_a_log() -> None:
    error = errors.of_response(what="GET /api", code=500, body=b"x" * 1_000_000)
    assert len(error.message) < 300
