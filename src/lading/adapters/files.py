"""Files that are replaced in one step: after a crash the old content is there, or the new one."""

import os
import secrets
from pathlib import Path


def write_atomically(
    path: Path, content: bytes, *, mode: int = 0o666, temporary_folder: Path | None = None
) -> None:
    """The temporary file lies beside the other, or in a folder on the same filesystem."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent if temporary_folder is None else temporary_folder
    temporary = folder / f".lading-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Without it a crash may still undo the renaming."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
