"""A small file system of its own, so that a runtime's disk can really be full."""

import contextlib
import pathlib
from collections.abc import Iterator

from tests.real.bed import filesystems, sandbox


@contextlib.contextmanager
def loop_filesystem(size_bytes: int) -> Iterator[pathlib.Path]:
    """An empty ext4 of this size, mounted on the host until the end of the block.

    Whatever uses it must be opened after it and closed before it.
    """
    with sandbox.sandbox() as place:
        mount_point = place.folder / "disk"
        filesystems.mount_new(place.folder / "disk.img", mount_point, size_bytes=size_bytes)
        yield mount_point
