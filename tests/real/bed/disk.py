"""A small file system of its own, so that a runtime's disk can really be full."""

import contextlib
import pathlib
import subprocess
from collections.abc import Iterator

from tests.real.bed import sandbox


@contextlib.contextmanager
def loop_filesystem(size_bytes: int) -> Iterator[pathlib.Path]:
    """An empty ext4 of this size, mounted on the host until the end of the block.

    Whatever uses it must be opened after it and closed before it.
    """
    with sandbox.sandbox() as place:
        image = place.folder / "disk.img"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        mount_point = place.make_folder("disk")
        subprocess.run(["mount", "-o", "loop", image, mount_point], check=True)
        yield mount_point
