"""The images of a release come from a file in a layer of its image."""

import gzip
import io
import json
import tarfile

import pytest

from lading.kernel.errors import Malformed
from lading.pinned_images.authoring import release_payload
from lading.pinned_images.authoring.release_payload import LayerSearch, search_layer
from lading.wiring.host import machine_platform
from tests.pinned_images.served_registry import ServedRegistry, served

__all__ = ["served"]
ETCD = f"quay.io/openshift/etcd@sha256:{'1' * 64}"
CLI = f"quay.io/openshift/cli@sha256:{'2' * 64}"


def image_references(*images: str, kind: str = "DockerImage") -> bytes:
    tags = [{"name": "a", "from": {"kind": kind, "name": image}} for image in images]
    return json.dumps({"kind": "ImageStream", "spec": {"tags": tags}}).encode()


async def images(served: ServedRegistry) -> tuple[str, ...]:
    return await release_payload.images(
        served.client, served.reference("release:v1"), machine_platform()
    )


async def test_the_release_and_every_image_of_it_are_returned(served: ServedRegistry) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI), "old": b""},
        {release_payload.IMAGE_REFERENCES: image_references(ETCD, CLI)},
        {"later": b"x" * 1000},
    ]
    release = await served.push("release:v1", layers)
    assert await images(served) == (release, ETCD, CLI)


async def test_a_file_that_a_later_layer_hides_is_not_there(served: ServedRegistry) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI)},
        {"release-manifests/.wh.image-references": b""},
    ]
    await served.push("release:v1", layers)
    with pytest.raises(Malformed, match="it has no release-manifests/image-references"):
        await images(served)


async def test_the_bytes_that_are_downloaded_are_bounded(
    served: ServedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = [
        {release_payload.IMAGE_REFERENCES: image_references(CLI)},
        {"noise": bytes(range(256)) * 8},
        {"small": b""},
    ]
    await served.push("release:v1", layers)
    monkeypatch.setattr(release_payload, "DOWNLOAD_BYTES_MAX", 200)
    with pytest.raises(Malformed, match="in its last 200 bytes of layers"):
        await images(served)


@pytest.mark.parametrize(
    "content",
    [
        b"no JSON",
        b"[]",
        b'{"kind": "List"}',
        image_references(),
        image_references(CLI, kind="ImageStreamTag"),
        image_references(""),
    ],
)
def test_a_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match="release image"):
        release_payload.images_in(content, name="quay.io/release:v1")


PATH = "release-manifests/image-references"
CONTENT = b'{"kind": "ImageStream"}' * 100


def archive(files: dict[str, bytes], *, format_: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mtime = 1.5  # PAX writes a header of its own for it
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def searched(layer: bytes) -> LayerSearch:
    return search_layer(io.BytesIO(layer))


FILES = {"a/b": b"x" * 1537, PATH: CONTENT, "z": b""}


@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_the_file_is_found_in_every_format(format_: int) -> None:
    assert searched(gzip.compress(archive(FILES, format_=format_))).content == CONTENT


def test_a_layer_without_compression_is_read() -> None:
    assert searched(archive({f"./{PATH}": CONTENT})).content == CONTENT


def test_a_layer_of_several_gzip_streams_is_read() -> None:
    whole = archive(FILES)
    layer = b"".join(
        gzip.compress(whole[begin : begin + 700]) for begin in range(0, len(whole), 700)
    )
    assert searched(layer).content == CONTENT


@pytest.mark.parametrize(
    "removed",
    [
        "release-manifests/.wh.image-references",
        "release-manifests/.wh..wh..opq",
        ".wh.release-manifests",
    ],
)
def test_a_layer_that_hides_the_file_is_noticed(removed: str) -> None:
    search = searched(gzip.compress(archive({removed: b""})))
    assert (search.content, search.is_removed) == (None, True)


def test_a_layer_without_the_file_has_none() -> None:
    search = searched(gzip.compress(archive({"other": CONTENT})))
    assert (search.content, search.is_removed) == (None, False)


def test_a_layer_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_payload, "UNPACKED_BYTES_MAX", 5 * 1024 * 1024)
    with pytest.raises(ValueError, match="unpacks to more than"):
        searched(gzip.compress(archive({"bomb": b"\0" * 20 * 1024 * 1024})))


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    header = tarfile.TarInfo(PATH)
    header.size = release_payload.FILE_BYTES_MAX + 1
    with pytest.raises(ValueError, match="is larger than"):
        searched(header.tobuf())


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (b"\x28\xb5\x2f\xfd" + b"0" * 600, "zstd"),
        (b"\x1f\x8b" + b"0" * 600, "compression"),
        (b"no archive" * 100, "header"),
    ],
)
def test_what_is_no_layer_is_refused(layer: bytes, reason: str) -> None:
    with pytest.raises((ValueError, OSError, tarfile.TarError), match=reason):
        searched(layer)
