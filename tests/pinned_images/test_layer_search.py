"""One file is found in a layer that arrives in pieces, and a hostile layer costs little."""

import gzip
import io
import tarfile

import pytest

from lading.kernel.errors import Malformed
from lading.pinned_images import layer_search
from lading.pinned_images.layer_search import LayerSearch

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


def searched(layer: bytes, *, piece_bytes: int = 1000) -> LayerSearch:
    search = LayerSearch(PATH)
    for begin in range(0, len(layer), piece_bytes):
        search.feed(layer[begin : begin + piece_bytes])
    return search


FILES = {"a/b": b"x" * 1537, PATH: CONTENT, "z": b""}


@pytest.mark.parametrize("piece_bytes", [1, 511, 512, 513, 100_000])
@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_the_file_is_found_whatever_the_pieces(piece_bytes: int, format_: int) -> None:
    layer = gzip.compress(archive(FILES, format_=format_))
    assert searched(layer, piece_bytes=piece_bytes).content == CONTENT


def test_a_layer_without_compression_is_read() -> None:
    assert searched(archive({f"./{PATH}": CONTENT})).content == CONTENT


def test_a_layer_of_several_gzip_streams_is_read() -> None:
    whole = archive(FILES)
    layer = b"".join(gzip.compress(whole[begin : begin + 700]) for begin in range(0, 9000, 700))
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
    monkeypatch.setattr(layer_search, "UNPACKED_BYTES_MAX", 5 * 1024 * 1024)
    with pytest.raises(Malformed, match="unpacks to more than"):
        searched(gzip.compress(archive({"bomb": b"\0" * 20 * 1024 * 1024})))


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    header = tarfile.TarInfo(PATH)
    header.size = layer_search.FILE_BYTES_MAX + 1
    with pytest.raises(Malformed, match="is larger than"):
        searched(header.tobuf())


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (b"\x28\xb5\x2f\xfd" + b"0" * 600, "zstd"),
        (b"\x1f\x8b" + b"0" * 600, "compression is damaged"),
        (b"no archive" * 100, "not a tar archive"),
    ],
)
def test_what_is_no_layer_is_refused(layer: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        searched(layer)
