"""Folders below a root that are opened name by name; a symbolic link on the way is never followed.

The kernel resolves a path at each call. A user who may write into one of its folders can put a link
there between two calls, and lead a process with more rights to another place. An open folder stays
the same one, so every name below it is opened, read and removed by the descriptor of its folder.
"""

import errno
import os
import stat
from types import TracebackType
from typing import Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NotAFileError(OSError):
    """A link, a pipe, a socket or a device has the name of a file or folder."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(errno.ELOOP, f"it is {kind}, and not a file; remove it", path)
        self.kind = kind


def special_kind(mode: int) -> str:
    """Empty for a file or a folder."""
    return _KINDS.get(stat.S_IFMT(mode), "")


class Descent:
    """The folder of the last path and all above it, open: the next path begins at what they share.

    A long list of sorted paths costs about one call for each folder, and never more descriptors
    than the deepest path has names.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._paths: list[str] = []
        """Of the open folders, each with a slash at its end."""
        self._open: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        while self._open:
            self._ascend()

    def folder(self, path: str, *, make: bool = False) -> int:
        """The descriptor of the folder; it is valid until the next call. Empty for the root."""
        wanted = f"{path}/" if path else ""
        while self._paths and not wanted.startswith(self._paths[-1]):
            self._ascend()
        reached = self._paths[-1] if self._paths else ""
        for name in wanted[len(reached) :].split("/")[:-1]:
            above = self._open[-1] if self._open else self._root
            try:
                found = self._opened(name, above, make=make)
            except OSError as error:
                error.filename = f"{reached}{name}"
                raise
            reached = f"{reached}{name}/"
            self._open.append(found)
            self._paths.append(reached)
        return self._open[-1] if self._open else self._root

    def _ascend(self) -> None:
        self._paths.pop()
        os.close(self._open.pop())

    @staticmethod
    def _opened(name: str, above: int, *, make: bool) -> int:
        try:
            return os.open(name, _FOLDER, dir_fd=above)
        except FileNotFoundError:
            if not make:
                raise
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                refuse_special(name, above)
            raise
        try:
            os.mkdir(name, dir_fd=above)
        except FileExistsError:
            pass  # another process has just made it
        else:
            os.fsync(above)
        return os.open(name, _FOLDER, dir_fd=above)


def refuse_special(name: str, folder: int) -> None:
    """Raises `NotAFileError` for what is neither a file nor a folder."""
    kind = special_kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    if kind:
        raise NotAFileError(name, kind)


def read_file(name: str, folder: int, *, bytes_max: int) -> bytes | None:
    """None for more than the limit, also where the file grows while it is read. Never waits."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            refuse_special(name, folder)
        raise
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if kind := special_kind(found.st_mode):
            raise NotAFileError(name, kind)
        if found.st_size > bytes_max:
            return None
        content = os.read(descriptor, found.st_size + 1)
        while len(content) < found.st_size and (more := os.read(descriptor, found.st_size)):
            content += more
        return content if len(content) <= bytes_max else None
    finally:
        os.close(descriptor)
