"""Files that are replaced in one step."""

import os
from pathlib import Path

import pytest

from lading import files


def test_a_write_that_fails_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    files.write_atomically(path, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        files.write_atomically(path, b"new")
    assert caught.value.filename == str(path), "not the temporary file"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])
