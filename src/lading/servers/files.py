"""Files that are whole or absent after a crash, and the link files that hold a digest."""

import os
import secrets
from pathlib import Path

from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed

LINK_BYTES_MAX = 256  # the longest digest we know has 135 characters


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces the file in one step: temporary file, flush to disk, rename, flush the folder."""
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def move_into_place(source: Path, target: Path) -> None:
    """Moves a finished file on the same filesystem to its final name."""
    make_folder(target.parent)
    with source.open("rb") as file:
        os.fsync(file.fileno())
    source.rename(target)
    flush_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Makes the folder and its parents; each new entry is on the disk when this returns."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_link(path: Path) -> Digest | None:
    """The digest that a link names; None when the link is absent or unreadable."""
    try:
        with path.open("rb") as file:
            content = file.read(LINK_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return digests.parse(content.decode("ascii", "replace").strip())
    except Malformed:
        return None


def write_link(path: Path, digest: Digest) -> None:
    if read_link(path) != digest:
        write_atomically(path, str(digest).encode())
