"""State files and journals in a folder of this machine.

A state file is written to a temporary name, made durable, then renamed. A journal is a file of
lines: appended to, read whole at the start. Losing a journal costs only time: a line that a crash
cut off is skipped, and a file that cannot be read, or is too large to be ours, is started again.

The folder may be one that others can write to, so nothing below it is reached through a link.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import structlog

from lading import files, folders
from lading.folders import Descent
from lading.kernel import paths, quantities
from lading.kernel.errors import UNREADABLE, Malformed

STATE_BYTES_MAX = 512 * 1024 * 1024  # what is known of two million manifests
_Result = TypeVar("_Result")
LOCK_POLL_SECONDS = 0.01  # the lock is held for one read and one write


class LocalStateFile:
    def __init__(self, path: Path, *, root: Path | None = None) -> None:
        """The root is what the administrator names; by default it is the folder of the file."""
        self._path = path
        self._root = root or path.parent
        self._above, _, self._name = str(path.relative_to(self._root)).rpartition("/")
        if not paths.is_below(self._name) or (self._above and not paths.is_below(self._above)):
            reason = f"expected a path below {self._root}"
            raise Malformed(what="state file", text=str(path), reason=reason)

    async def read(self) -> bytes | None:
        """Raises OSError for a file that is too large, or is none."""
        try:
            return await asyncio.to_thread(self._in_folder, self._content)
        except FileNotFoundError:
            return None

    async def replace(self, content: bytes) -> None:
        def write(folder: int) -> None:
            files.write_in_folder(folder, self._name, content)

        def written() -> None:
            files.make_folder(self._root)
            self._in_folder(write, make=True)

        await asyncio.to_thread(written)

    def _content(self, folder: int) -> bytes:
        found = folders.read_file(self._name, folder, bytes_max=STATE_BYTES_MAX)
        if found is None:
            most = quantities.format_bytes(STATE_BYTES_MAX)
            raise OSError(errno.EFBIG, f"the file is larger than {most}")
        return found

    def _in_folder(self, work: Callable[[int], _Result], *, make: bool = False) -> _Result:
        try:
            with files.opened(self._root) as root, Descent(root) as descent:
                return work(descent.folder(self._above, make=make))
        except OSError as error:
            error.filename = str(self._path)
            raise

    def _opened_lock(self, folder: int) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        return os.open(f"{self._name}.lock", flags, 0o600, dir_fd=folder)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """By a file of its own: the state file itself is replaced."""
        files.make_folder(self._root)
        descriptor = self._in_folder(self._opened_lock, make=True)
        try:
            while not _try_to_lock(descriptor):  # noqa: ASYNC110 - another process may hold it
                await asyncio.sleep(LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool:
    """Without waiting: a thread that waits cannot be cancelled."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


BYTES_MAX = 4 * 1024 * 1024  # some 4,000 images; a fuller journal is begun anew

log = structlog.get_logger(__name__)


class FileJournal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes = 0
        self._entries: dict[str, Any] = {}
        try:
            self._read()
        except OSError as error:
            log.warning(
                "journal cannot be read; a new one is started", path=str(path), error=str(error)
            )
            self._set_aside()

    def entries(self) -> Mapping[str, Any]:
        """Everything that is in the journal now."""
        return self._entries

    def put(self, key: str, value: Any) -> None:
        line = b"\n" + msgspec.json.encode([key, value])
        is_full = self._size_bytes + len(line) > BYTES_MAX
        if is_full:
            self._entries.clear()
            self._size_bytes = 0
        if len(line) > BYTES_MAX:
            return
        self._entries[key] = value
        self._size_bytes += len(line)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "wb" if is_full else "ab", opener=_opened) as file:
            file.write(line)

    def _read(self) -> None:
        try:
            with files.opened(self._path.parent) as folder:
                content = folders.read_file(self._path.name, folder, bytes_max=BYTES_MAX)
        except FileNotFoundError:
            return
        if content is None:
            raise OSError(f"it has more than {BYTES_MAX} bytes")
        self._size_bytes = len(content)
        for line in content.splitlines():
            with contextlib.suppress(*UNREADABLE):
                key, value = msgspec.json.decode(line, type=tuple[str, Any])
                self._entries[key] = value

    def _set_aside(self) -> None:
        """What cannot be read may be a folder, which cannot be written over."""
        with contextlib.suppress(OSError):
            self._path.rename(self._path.with_name(f"{self._path.name}.unreadable"))


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


class LocalStateDirectory(msgspec.Struct, frozen=True):
    path: Path

    def file(self, name: str) -> LocalStateFile:
        return LocalStateFile(self.path / name)

    def journal(self, name: str) -> FileJournal:
        return FileJournal(self.path / name)
