"""What runtimes say, word for word, and the error of the port that it becomes."""

import time

import pytest
from grpclib.const import Status

from lading.adapters.cri import errors
from lading.ports import cri
from lading.wire.calls import CallFailed

UNKNOWN, NOT_FOUND = Status.UNKNOWN, Status.NOT_FOUND


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (NOT_FOUND, 'failed to resolve "r.io/a:1": r.io/a:1: not found', cri.ImageNotFound),
        (NOT_FOUND, "no match for platform in manifest: not found", cri.NoMatchingPlatform),
        (UNKNOWN, "no image found in image index for architecture amd64", cri.NoMatchingPlatform),
        (UNKNOWN, "reading manifest 1 in r.io/a: manifest unknown", cri.ImageNotFound),
        (
            UNKNOWN,
            "pull access denied, repository does not exist or may require authorization: not found",
            cri.Unauthorized,
        ),
        (UNKNOWN, "unexpected status from HEAD request: 401 Unauthorized", cri.Unauthorized),
        (UNKNOWN, "unexpected status: 503 Service Unavailable", cri.RegistryUnavailable),
        (UNKNOWN, "dial tcp 127.0.0.1:9: connect: connection refused", cri.RegistryUnavailable),
        (UNKNOWN, "RegistryUnavailable: pinging r.io", cri.RegistryUnavailable),
        (UNKNOWN, "SignatureValidationFailed: no policy", cri.ContentRejected),
        (UNKNOWN, "failed commit on ref: unexpected commit digest", cri.ContentRejected),
        (
            UNKNOWN,
            "config.json digest sha256:1 does not match expected sha256:2",
            cri.ContentRejected,
        ),
        (UNKNOWN, "reading manifest 1 in r.io/a: unauthorized: no", cri.Unauthorized),
        (
            UNKNOWN,
            "HEAD request to http://r.io/v2/: 429 Too Many Requests",
            cri.RegistryUnavailable,
        ),
        (UNKNOWN, "TOOMANYREQUESTS: Rate exceeded", cri.RegistryUnavailable),
        (UNKNOWN, "write /blobs: no space left on device", cri.NoSpace),
        (UNKNOWN, "server is not initialized yet", cri.Unavailable),
        (UNKNOWN, "invalid reference format", cri.InvalidReference),
        (UNKNOWN, "UnknownHandler: no runtime handler 'x'", cri.UnknownHandler),
        (Status.UNAVAILABLE, "connection refused", cri.Unavailable),
        (Status.UNAVAILABLE, "RegistryUnavailable: x", cri.RegistryUnavailable),
        (Status.DEADLINE_EXCEEDED, "Deadline Exceeded", cri.TimedOut),
        (Status.UNIMPLEMENTED, "unknown method", cri.Unsupported),
        (UNKNOWN, "an unknown error", cri.CriError),
    ],
)
def test_words_and_codes_become_kinds(
    status: Status, message: str, expected: type[cri.CriError]
) -> None:
    translated = errors.translated(CallFailed(status, message), call="PullImage", image="r.io/a:1")
    assert type(translated) is expected
    assert translated.image == "r.io/a:1"
    assert str(translated).startswith("PullImage")
    assert str(translated).endswith(f" failed: {message}")
    assert "r.io/a:1" in str(translated)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("status code [manifests v1]: 401 Unauthorized", id="containerd, 401"),
        pytest.param("status code [manifests v1]: 403 Forbidden", id="containerd, 403"),
        pytest.param("reading manifest v1 in r.io/a: authentication required", id="CRI-O, 401"),
        pytest.param("reading manifest v1 in r.io/a: denied: go away", id="CRI-O, 403"),
        pytest.param(
            'reading manifest v1 in r.io/a: StatusCode: 403, "<html>go away</html>"',
            id="CRI-O, 403 of a proxy",
        ),
    ],
)
def test_a_403_is_a_refusal_like_a_401(message: str) -> None:
    error = CallFailed(UNKNOWN, message)
    translated = errors.translated(error, call="PullImage", image="r.io/a:v1")
    assert type(translated) is cri.Unauthorized


def test_an_image_that_the_runtime_names_is_not_named_again() -> None:
    for message, expected in (
        ("r.io/a:1: not found", "PullImage failed: r.io/a:1: not found"),
        ("not found", "PullImage of r.io/a:1 failed: not found"),
    ):
        error = CallFailed(UNKNOWN, message)
        assert str(errors.translated(error, call="PullImage", image="r.io/a:1")) == expected


def test_words_inside_the_images_own_name_are_not_taken_for_a_reason() -> None:
    image = "r.io/access-denied/unauthorized:403"
    message = f"failed to pull {image}: something else"
    error = CallFailed(UNKNOWN, message)
    assert type(errors.translated(error, call="PullImage", image=image)) is cri.CriError


@pytest.mark.parametrize("word", ["no runtime for ", "digest ", "50", "short-", "a"])
def test_a_hostile_message_is_classified_in_time(word: str) -> None:
    """As much as a gRPC client takes; a search that begins anew at each word takes seconds."""
    message = word * (64 * 1024 // len(word))
    began = time.process_time()
    errors.translated(CallFailed(Status.UNKNOWN, message), call="PullImage", image="r.io/a:1")
    assert time.process_time() - began < 0.5
