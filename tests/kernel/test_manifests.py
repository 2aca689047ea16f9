"""Manifests are read strictly: what is believed, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.kernel.manifests import Descriptor, ImageManifest, Index
from lading.kernel.platforms.types import Platform

DIGEST = Digest.of(b"content")


def entry(**changes: Any) -> dict[str, Any]:
    return {"mediaType": "a/b", "digest": str(DIGEST), "size": 7, **changes}


def image(**changes: Any) -> bytes:
    return json.dumps(
        {"schemaVersion": 2, "config": entry(), "layers": [entry()], **changes}
    ).encode()


def index(**changes: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "manifests": [entry()], **changes}).encode()


def test_an_image_manifest_names_its_blobs() -> None:
    parsed = manifests.parse(image(mediaType=manifests.DOCKER_MANIFEST))
    assert isinstance(parsed, ImageManifest)
    assert parsed.media_type == manifests.DOCKER_MANIFEST
    same = Descriptor(media_type="a/b", digest=DIGEST, size_bytes=7)
    assert parsed.blobs == (same, same)


def test_an_index_names_its_platforms() -> None:
    platform = {
        "os": "windows",
        "architecture": "amd64",
        "os.version": "10.0.20348.1",
        "os.features": ["win32k"],
    }
    parsed = manifests.parse(index(manifests=[entry(platform=platform), entry()]))
    assert isinstance(parsed, Index)
    assert [each.platform for each in parsed.manifests] == [
        Platform(
            os="windows",
            architecture="amd64",
            os_version="10.0.20348.1",
            os_features=("win32k",),
        ),
        None,
    ]


@pytest.mark.parametrize(
    ("content", "declared", "expected"),
    [
        (image(), "", manifests.OCI_MANIFEST),
        (index(), "", manifests.OCI_INDEX),
        (image(), manifests.DOCKER_MANIFEST, manifests.DOCKER_MANIFEST),
        (index(mediaType=manifests.DOCKER_LIST), "text/plain", manifests.DOCKER_LIST),
    ],
    ids=["an image by its shape", "an index by its shape", "by the server", "by itself"],
)
def test_the_media_type_is_what_all_agree_on(content: bytes, declared: str, expected: str) -> None:
    assert manifests.parse(content, declared).media_type == expected
    assert manifests.media_type_of(content, declared) == expected


@pytest.mark.parametrize(
    ("content", "declared", "reason"),
    [
        (image(manifests=[]), "", "both"),
        (image(mediaType=manifests.OCI_MANIFEST), manifests.DOCKER_MANIFEST, "the server sent"),
        (image(), manifests.OCI_INDEX, "do not fit"),
        (index(mediaType=manifests.OCI_MANIFEST), "", "do not fit"),
        (image(schemaVersion=1), "", "schemaVersion"),
        (image(config=None), "", "config"),
        (image(layers=[entry(digest="sha256:short")]), "", "sha256 needs"),
        (image(layers=[entry(size=-1)]), "", "size"),
        (image(layers=[entry(size="7")]), "", "size"),
        (index(manifests=[entry()] * (manifests.ENTRIES_MAX + 1)), "", "entries"),
        (index(manifests=[entry(platform={"os": "x" * 513})]), "", "512 characters"),
        (index(manifests=[entry(platform={"os.features": ["x"] * 65})]), "", "64 words"),
        (b" " * (manifests.MANIFEST_BYTES_MAX + 1), "", "bytes"),
        (index(manifests=[entry(platform={"os.features": ["\0" * 700]})]), "", "512 characters"),
        (b"[" * 20_000, "", "Expected|nested|truncated"),
        (b'{"x":' + b"[" * 20_000, "", "nested"),
        (
            index(annotations=dict.fromkeys(map(str, range(70_000)), "")),
            "",
            "more than 32768 values",
        ),
        (b"", "", "truncated"),
        (b"null", "", "Expected"),
    ],
)
def test_what_could_be_misread_is_refused(content: bytes, declared: str, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        manifests.parse(content, declared)


def test_unknown_fields_are_ignored() -> None:
    assert manifests.parse(image(future={"deep": [1, 2]})) == manifests.parse(image())


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_read_or_refused(content: bytes) -> None:
    try:
        manifests.parse(content)
    except Malformed:
        return
    assert json.loads(content)["schemaVersion"] == 2


def test_a_configuration_names_the_platform_and_the_user() -> None:
    document = {
        "os": "linux",
        "architecture": "arm64",
        "variant": "v8",
        "config": {"User": "1002", "Labels": {"a": "b"}},
        "rootfs": {"type": "layers", "diff_ids": [str(DIGEST)]},
    }
    config = manifests.parse_config(json.dumps(document).encode())
    assert config.platform == Platform(os="linux", architecture="arm64", variant="v8")
    assert config.user == "1002"


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b'{"os":5}',
        b'{"os.features":"x"}',
        b'{"os.features":[1]}',
        b'{"os.features":["\xff"]}',
    ],
)
def test_a_malformed_configuration_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed):
        manifests.parse_config(content)
