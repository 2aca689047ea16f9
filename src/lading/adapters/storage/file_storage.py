"""A `Storage` on the files of a folder, and the one place that translates its errors.

Every call waits in a thread, because the folder may be on a network. Links to folders are
followed; one that leads nowhere is an error, because what it named may only be unmounted, and so is
one that leads to a folder above itself. What vanishes while a list is read is not in it.
"""

import asyncio
import contextlib
import errno
import itertools
import os
import secrets
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from lading import files
from lading.ports import storage
from lading.ports.storage import OnlyNew, OnlyVersion, StorageError, StoredObject

PAGE_OBJECTS = 1000
THREADS_MAX = 16
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_FOUND = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_NO_FOLDER = (FileNotFoundError, NotADirectoryError)
_Result = TypeVar("_Result")


class _Emptiness(msgspec.Struct, frozen=True):
    """The folders that a list has found empty, and when it began."""

    since: float
    folders: list[str] = []


class FileStorage:
    """Implements the `Storage` port."""

    copy_bytes_max: int | None = None

    def __init__(self, folder: Path, *, name: str) -> None:
        self._folder = folder
        self._name = name
        self._listed: dict[str, _Emptiness] = {}
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="storage")

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        seen = _Emptiness(since=time.time())
        objects = _objects(f"{self._folder}/", prefix, seen.folders)
        while page := await self._done(prefix, lambda: _page(objects)):
            yield page
        self._listed[prefix] = seen

    async def head(self, path: str) -> StoredObject | None:
        return await self._done(path, lambda: _head(self._folder / path, path))

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        content = await self._done(path, lambda: _read(f"{self._folder}/{path}", bytes_max))
        if content is None:
            raise storage.TooLarge(f"{self._name}: {path} has more than {bytes_max} bytes")
        return content

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        if isinstance(condition, OnlyVersion):
            raise storage.Unsupported(f"{self._name}: {path}: files have no versions")
        write = _create if isinstance(condition, OnlyNew) else files.write_atomically
        file = self._folder / path

        def written() -> None:
            _make_folder(file.parent)
            write(file, content)

        await self._done(path, written)

    async def move(self, source: str, target: str) -> None:
        await self._done(source, lambda: _move(self._folder / source, self._folder / target))

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return await self._done("", lambda: self._deleted(paths))

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        """A whole list knows all that can be old enough: what was emptied later is younger."""
        limit, top = before.timestamp(), self._folder / prefix
        seen = self._listed.get(prefix)
        if seen is not None and limit <= seen.since:
            return await self._done(prefix, lambda: _remove_empty(seen.folders, top, limit))
        return await self._done(prefix, lambda: _remove_empty(_folders(top), top, limit))

    def _deleted(self, paths: Sequence[str]) -> dict[str, StorageError]:
        failures: dict[str, StorageError] = {}
        for path in paths:
            try:
                with self._translated(path):
                    os.unlink(f"{self._folder}/{path}")
            except storage.NotFound:
                continue
            except StorageError as error:
                failures[path] = error
        return failures

    async def _done(self, path: str, work: Callable[[], _Result]) -> _Result:
        with self._translated(path):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _named(self, path: str, error: OSError) -> str:
        """What is below the path where that is what failed, as a folder of a list."""
        top, failed = f"{self._folder}/", str(error.filename)
        return failed.removeprefix(top) if failed.startswith(f"{top}{path}/") else path

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            number = error.errno
            place = f"{self._name}: {self._named(path, error)}" if path else self._name
            if number in _NOT_FOUND:
                raise storage.NotFound(f"{place}: not found") from error
            if number == errno.EEXIST:
                raise storage.AlreadyExists(f"{place}: exists already") from error
            kind: type[StorageError] = storage.Unavailable
            if number in _DENIED:
                kind = storage.Denied
            elif number in _FULL:
                kind = storage.Full
            raise kind(f"{place}: {error.strerror or error}") from error


def _objects(root: str, prefix: str, empty: list[str]) -> Iterator[StoredObject]:
    """Every file in the folder `prefix` and below; an error when that is no longer the same one."""
    top = _identity(f"{root}{prefix}")
    waiting = [prefix]
    while waiting:
        folder = waiting.pop()
        is_empty = True
        with contextlib.suppress(*_NO_FOLDER), os.scandir(f"{root}{folder}") as entries:
            for entry in entries:
                is_empty = False
                path = f"{folder}/{entry.name}"
                if entry.is_dir():
                    if entry.is_symlink():
                        _check_link(f"{root}{folder}", entry)
                    waiting.append(path)
                    continue
                try:
                    yield _stored(path, entry.stat())
                except FileNotFoundError:
                    if os.path.islink(f"{root}{path}"):
                        reason = f"{path} is a link to a path that does not exist (is it mounted?)"
                        raise OSError(errno.ENOLINK, reason) from None
        if is_empty:
            empty.append(f"{root}{folder}")
    if _identity(f"{root}{prefix}") != top:
        raise OSError(errno.ESTALE, "the folder was replaced or unmounted while it was listed")


def _check_link(folder: str, entry: "os.DirEntry[str]") -> None:
    """A list through a link to a folder above it would have no end."""
    target = os.path.realpath(entry.path)
    if os.path.commonpath((os.path.realpath(folder), target)) == target:
        raise OSError(errno.ELOOP, f"{entry.name} is a link to a folder above it; remove it")


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except _NO_FOLDER:
        return None
    return found.st_dev, found.st_ino


def _page(objects: Iterator[StoredObject]) -> list[StoredObject]:
    return list(itertools.islice(objects, PAGE_OBJECTS))


def _stored(path: str, found: os.stat_result) -> StoredObject:
    return StoredObject(path, found.st_size, _time(found.st_mtime))


def _time(seconds: float) -> datetime:
    """A file may have a time that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return _EARLIEST if seconds < 0 else _LATEST


def _head(file: Path, path: str) -> StoredObject | None:
    try:
        found = file.stat()
    except _NO_FOLDER:
        return None
    return _stored(path, found) if stat.S_ISREG(found.st_mode) else None


def _read(path: str, bytes_max: int) -> bytes | None:
    """None for more than the limit; a pipe in the place of a file is empty."""
    with open(path, "rb", buffering=0, opener=_without_waiting) as file:
        is_larger = os.fstat(file.fileno()).st_size > bytes_max
        return None if is_larger else file.readall()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _create(path: Path, content: bytes) -> None:
    """Whole or not at all, and only where no file is: linked from a file that is written first."""
    temporary = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    files.write_atomically(temporary, content)
    try:
        os.link(temporary, path)
    finally:
        temporary.unlink()


def _make_folder(folder: Path) -> None:
    try:
        files.make_folder(folder)
    except FileExistsError as error:
        raise OSError(errno.ENOTSUP, f"{error.filename} is not a folder; remove it") from None


def _move(source: Path, target: Path) -> None:
    """Not a symbolic link, which may lead elsewhere from another folder."""
    if source.is_symlink():
        raise OSError(errno.ENOTSUP, "it is a symbolic link; replace it with its file")
    _make_folder(target.parent)
    try:
        source.rename(target)
    except IsADirectoryError:
        raise OSError(errno.ENOTEMPTY, f"{target} is a folder; remove it") from None
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        reason = f"{target.parent} must be on the same file system"
        raise OSError(errno.EXDEV, reason) from None


def _folders(top: Path) -> Iterator[str]:
    """Those that have no files, the deepest first."""
    return (folder for folder, _, names in os.walk(top, topdown=False) if not names)


def _remove_empty(folders: Iterable[str], top: Path, before: float) -> int:
    """A folder that becomes empty by this is young and stays until a later run."""
    removed = 0
    for folder in folders:
        path = Path(folder)
        with contextlib.suppress(OSError):  # it has an entry, or is gone
            if path != top and path.stat().st_mtime < before:
                path.rmdir()
                removed += 1
    return removed
