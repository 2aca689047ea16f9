"""Any list, error or manifest that a registry answers with is read or refused."""

from typing import Any

from hypothesis import example, given

from lading.adapters.registry import administration, answers, endpoint_client
from lading.ports.registry import MalformedAnswer
from lading.pruning.engine.inventory import documents
from tests.fuzz import harness, inputs

DIGEST = f"sha256:{'a' * 64}"
ENTRY = {"digest": DIGEST, "size": 7, "mediaType": "a/b", "artifactType": "c/d"}
EXAMPLE: dict[str, Any] = {
    "tags": ["v1", "latest"],
    "repositories": ["team/app"],
    "manifests": [ENTRY],
    "config": ENTRY,
    "fsLayers": [{"blobSum": DIGEST}],
    "errors": [{"code": "DENIED", "message": "no", "detail": {"a": "b"}}],
}
MESSAGE_CHARACTERS_MAX = 400


@given(body=inputs.mangled(inputs.documents(EXAMPLE).map(inputs.as_json)))
@example(body=b'{"tags":[' + b'"",' * 50_000)
@example(body=b'{"errors":[{"message":' + b"[" * 30_000)
@example(body=b"\xff" * 65_536)
def test_any_answer_is_read_or_refused(body: bytes) -> None:
    lists = (administration._Catalogue, administration._Referrers)
    harness.check(lambda: endpoint_client._tag_list(body, "tags"), refusals=(MalformedAnswer,))
    for type_ in lists:
        harness.check(lambda: _listed(body, type_), refusals=(MalformedAnswer,))  # noqa: B023
    harness.check(lambda: _message(body), refusals=())


def _listed(body: bytes, type_: type[Any]) -> None:
    found = administration._decoded(body, type_, "list")
    for one in getattr(found, "manifests", None) or ():
        administration._descriptor(one, "list")


def _message(body: bytes) -> None:
    assert len(answers._registry_message(body)) < MESSAGE_CHARACTERS_MAX


@given(content=inputs.mangled(inputs.documents(EXAMPLE).map(inputs.as_json)))
@example(content=b'{"a":[' + b"[]," * 1_000_000 + b"[]]}")
@example(content=b'{"a":' * 30_000)
def test_any_manifest_is_read_or_opaque_to_the_pruner(content: bytes) -> None:
    harness.check(lambda: documents.read(DIGEST, content), refusals=())
