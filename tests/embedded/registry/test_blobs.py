"""The content of a registry by digest."""

from pathlib import Path

from lading.embedded.registry.core import RegistryCore
from lading.kernel.digests import Digest

CONTENT = b"content"
DIGEST = Digest.of(CONTENT)


def test_content_is_written_once(core: RegistryCore) -> None:
    assert core.blobs.read(DIGEST) is None
    core.blobs.write(DIGEST, CONTENT)
    file = core.layout.blob(DIGEST)
    before = file.stat()
    core.blobs.write(DIGEST, CONTENT)
    assert file.stat().st_ino == before.st_ino
    assert core.blobs.read(DIGEST) == CONTENT


def test_a_finished_file_is_moved_unless_the_content_exists(
    core: RegistryCore, tmp_path: Path
) -> None:
    for name, is_left in (("first", False), ("second", True)):
        file = tmp_path / name
        file.write_bytes(CONTENT)
        core.blobs.adopt("team/app", DIGEST, file)
        assert file.exists() is is_left, "the upload deletes its own file"
        assert core.blobs.read(DIGEST) == CONTENT
