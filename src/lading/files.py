"""Files that are whole or absent after a crash: written beside their place, flushed, then renamed.

A file that a person names is read up to a limit: a device has no end.

Adapters and servers both need it, so it stands below them.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lading.kernel import quantities

BYTES_MAX = 32 * 1024 * 1024


def read_bounded(path: Path, *, bytes_max: int = BYTES_MAX) -> bytes:
    """Raises OSError also where the file is too large."""
    with path.open("rb") as file:
        return bounded_content(file, bytes_max=bytes_max)


def bounded_content(file: BinaryIO, *, bytes_max: int = BYTES_MAX) -> bytes:
    content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise _too_large("the file", bytes_max, file)
    return content


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """Of a file that may be of any length; raises OSError where one line is too long."""
    while line := file.readline(BYTES_MAX + 1):
        if len(line) > BYTES_MAX:
            raise _too_large("a line", BYTES_MAX, file)
        yield line


def _too_large(what: str, bytes_max: int, file: BinaryIO) -> OSError:
    most = quantities.format_bytes(bytes_max)
    return OSError(errno.EFBIG, f"{what} is larger than {most}", file.name)


def write_atomically(
    path: Path, content: bytes, *, mode: int = 0o666, temporary_folder: Path | None = None
) -> None:
    """The temporary file is in the same folder, or in one on the same filesystem."""
    make_folder(path.parent)
    with opened(path.parent) as folder, opened(temporary_folder or path.parent) as beside:
        try:
            write_in_folder(folder, path.name, content, mode=mode, temporary_folder=beside)
        except OSError as error:
            error.filename = str(path)
            raise


def write_in_folder(
    folder: int,
    name: str,
    content: bytes,
    *,
    mode: int = 0o666,
    only_new: bool = False,
    temporary_folder: int | None = None,
) -> None:
    """In a folder that is open; raises FileExistsError where `only_new` and the name is taken."""
    beside = folder if temporary_folder is None else temporary_folder
    temporary = f".lading-{os.urandom(8).hex()}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=beside)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if only_new:
            os.link(temporary, name, src_dir_fd=beside, dst_dir_fd=folder)
            os.unlink(temporary, dir_fd=beside)
        else:
            os.rename(temporary, name, src_dir_fd=beside, dst_dir_fd=folder)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=beside)
        if isinstance(error, OSError):  # of a file that nothing else names
            error.filename, error.filename2 = name, None
        raise
    os.fsync(folder)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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
    """Without it a crash may still undo a renaming."""
    with opened(folder) as descriptor:
        os.fsync(descriptor)
