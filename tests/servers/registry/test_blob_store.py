"""The content of a registry by digest."""

from pathlib import Path

import pytest

from lading.kernel.digests import Digest
from lading.servers.registry.blob_store import BlobStore, FileBlobStore
from lading.servers.registry.layout import Layout

CONTENT = b"content"
DIGEST = Digest.of(CONTENT)


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return FileBlobStore(Layout(tmp_path / "registry"))


def test_what_is_not_there(store: BlobStore) -> None:
    assert store.file(DIGEST) is None
    assert store.read(DIGEST) is None


def test_content_is_written_once(store: BlobStore) -> None:
    store.write(DIGEST, CONTENT)
    file = store.file(DIGEST)
    assert file is not None
    before = file.stat()
    store.write(DIGEST, CONTENT)
    assert file.stat().st_ino == before.st_ino
    assert store.read(DIGEST) == CONTENT


def test_a_finished_file_is_taken_over_unless_the_content_is_there(
    store: BlobStore, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(CONTENT)
    second.write_bytes(CONTENT)
    store.adopt(DIGEST, first)
    assert not first.exists()
    store.adopt(DIGEST, second)
    assert second.exists(), "who uploaded it throws it away"
    assert store.read(DIGEST) == CONTENT
