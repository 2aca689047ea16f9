"""Manifests of every kind, and what is no manifest at all."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lading.kernel import manifests
from lading.pruning.engine.inventory import documents
from lading.pruning.engine.inventory.manifest_table import InventoryManifest
from tests.pruning.builders import digest

A, B, C, D = map(digest, "ABCD")


def entry(one: str, size: int = 1, **more: Any) -> dict[str, Any]:
    return {"digest": one, "size": size, **more}


def read(document: Any) -> InventoryManifest:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return documents.read(digest("m"), content)[0]


def test_an_image_names_configuration_layers_and_subject() -> None:
    found = read({"config": entry(A), "layers": [entry(B), entry(C)], "subject": entry(D)})
    assert (set(found.blobs), found.subject) == ({A, B, C}, D)


def test_the_configuration_of_an_image() -> None:
    content = json.dumps({"config": entry(A), "layers": [entry(B)]}).encode()
    assert documents.config_of(content) == A
    assert documents.config_of(json.dumps({"manifests": [entry(A)]}).encode()) == ""
    assert documents.config_of(b"nothing") == ""


def test_when_an_image_was_built() -> None:
    assert documents.created(b'{"created": "1970-01-01T00:00:00Z"}') == datetime(
        1970, 1, 1, tzinfo=UTC
    )
    for content in (b"{}", b"[]", b"nothing", b'{"created": 5}', b'{"created": "long ago"}'):
        assert documents.created(content) is None


def test_an_index_names_manifests() -> None:
    assert read({"manifests": [entry(A), entry(B)]}).children == (A, B)


def test_z14_a_docker_list_names_manifests_and_no_blobs() -> None:
    found = read({"mediaType": manifests.DOCKER_LIST, "manifests": [entry(A), entry(B)]})
    assert (found.children, found.blobs, found.is_unknown) == ((A, B), (), False)


def test_an_artifact_manifest_names_its_blobs() -> None:
    found = read({"mediaType": documents.OCI_ARTIFACT, "blobs": [entry(A)], "artifactType": "x"})
    assert (found.blobs, found.artifact_type) == ((A,), "x")


def test_schema_1_names_its_layers() -> None:
    assert read({"schemaVersion": 1, "fsLayers": [{"blobSum": A}, {"blobSum": B}]}).blobs == (A, B)


def test_in_a_document_of_an_unknown_type_every_digest_is_an_edge_beside_its_layers() -> None:
    document = {
        "mediaType": "x/y",
        "layers": [entry(A)],
        "base": {"digest": B},
        "subject": entry(C),
    }
    found = read(document)
    assert (set(found.blobs), found.subject) == ({A, B}, C)
    found = read({"mediaType": "x/y", "manifests": [entry(A)], "base": B})
    assert (found.children, found.blobs) == ((A,), (B,))


def test_in_unknown_json_every_digest_is_an_edge() -> None:
    found = read({"parts": [{"where": f"x@{A}"}, [B]], "deep": {"er": {"c": C}}})
    assert set(found.blobs) == {A, B, C}


def test_annotations_of_a_known_manifest_are_no_edges() -> None:
    found = read({"config": entry(A), "layers": [], "annotations": {"base": B}})
    assert found.blobs == (A,)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"not json", b"[1]", b'"x"', b"[" * 100_000])
def test_what_cannot_be_read_is_opaque(content: bytes) -> None:
    assert read(content).is_opaque


@pytest.mark.parametrize(
    "document",
    [
        {"config": 3, "layers": "x", "manifests": {"a": 1}},
        {"layers": [None, {"digest": 3}, {"digest": "sha256:short"}], "config": []},
        {"fsLayers": [3, {"blobSum": None}], "subject": "x"},
    ],
)
def test_fields_of_another_shape_break_nothing(document: Any) -> None:
    assert not read(document).is_opaque


def test_a_helm_chart_is_recognized_by_its_configuration() -> None:
    chart = "application/vnd.cncf.helm.config.v1+json"
    assert read({"config": entry(A, mediaType=chart), "layers": []}).artifact_type == chart


def test_sizes_come_from_the_descriptors() -> None:
    document = {"config": entry(A, 7), "layers": [entry(B, -1), {"digest": C}]}
    sizes = documents.read(digest("m"), json.dumps(document).encode())[1]
    assert sizes == {A: 7, B: 0, C: 0}
