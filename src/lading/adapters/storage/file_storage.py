"""A `Storage` on the files of a folder, and the one place that translates its errors.

Every call waits in a thread, because the folder may be on a network. The root may be a link, as the
administrator names it, and is opened once. Below it no link is followed: a list shows each as what
it is, and any other call that meets one is an error. So it is with folders that are too deep, which
cost a descriptor and a longer path for each level. What vanishes during a list is not in it.
"""

import asyncio
import contextlib
import errno
import itertools
import os
import stat
import time
import weakref
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from lading import files, folders
from lading.folders import Descent, NotAFileError
from lading.ports import storage
from lading.ports.storage import OnlyNew, OnlyVersion, StorageError, StoredObject

PAGE_OBJECTS = 1000
THREADS_MAX = 16
DEPTH_MAX = 256
"""Of a folder; a registry makes none so deep, as a repository's name has at most 255 characters."""
_TOO_DEEP = f"a folder below {DEPTH_MAX} others"
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
        """Raises OSError where the folder cannot be opened."""
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        weakref.finalize(self, os.close, self._root)
        self._name = name
        self._listed: dict[str, _Emptiness] = {}
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="storage")

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        storage.check_path(prefix)
        seen = _Emptiness(since=time.time())
        with contextlib.closing(_objects(self._root, prefix, empty=seen.folders)) as objects:
            while page := await self._done(prefix, lambda: _page(objects)):
                yield page
        self._listed[prefix] = seen

    async def head(self, path: str) -> StoredObject | None:
        try:
            return await self._at(path, lambda folder, name: _head(folder, name, path))
        except storage.NotFound:
            return None

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        content = await self._at(
            path, lambda folder, name: folders.read_file(name, folder, bytes_max=bytes_max)
        )
        if content is None:
            raise storage.TooLarge(f"{self._name}: {path} has more than {bytes_max} bytes")
        return content

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        if isinstance(condition, OnlyVersion):
            raise storage.Unsupported(f"{self._name}: {path}: files have no versions")
        only_new = isinstance(condition, OnlyNew)

        def write(folder: int, name: str) -> None:
            files.write_in_folder(folder, name, content, only_new=only_new)

        await self._at(path, write, make=True)

    async def move(self, source: str, target: str) -> None:
        storage.check_path(target)
        await self._at(source, lambda folder, name: _move(folder, name, self._root, target))

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        return await self._done("", lambda: self._deleted(paths))

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        """A whole list knows all that can be old enough: what was emptied later is younger."""
        storage.check_path(prefix)
        limit, root = before.timestamp(), self._root
        seen = self._listed.get(prefix)
        if seen is not None and limit <= seen.since:
            return await self._done(
                prefix, lambda: _remove_empty(root, seen.folders, prefix, limit)
            )
        return await self._done(
            prefix, lambda: _remove_empty(root, _folders(root, prefix), prefix, limit)
        )

    def _deleted(self, paths: Sequence[str]) -> dict[str, StorageError]:
        failures = storage.bad_paths(paths)
        with Descent(self._root) as descent:
            for path in paths:
                if path in failures:
                    continue
                folder, _, name = path.rpartition("/")
                try:
                    with self._translated(path):
                        os.unlink(name, dir_fd=descent.folder(folder))
                except storage.NotFound:
                    continue
                except StorageError as error:
                    failures[path] = error
        return failures

    async def _at(
        self, path: str, work: Callable[[int, str], _Result], *, make: bool = False
    ) -> _Result:
        """Does this work with the folder of a path, open, and the name in it."""
        storage.check_path(path)
        above, _, name = path.rpartition("/")

        def done() -> _Result:
            with Descent(self._root) as descent:
                folder = _made(descent, above) if make else descent.folder(above)
                try:
                    return work(folder, name)
                except NotAFileError as error:
                    if error.filename == name:
                        error.filename = path
                    raise

        return await self._done(path, done)

    async def _done(self, path: str, work: Callable[[], _Result]) -> _Result:
        with self._translated(path):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except NotAFileError as error:
            found = storage.not_a_file(str(error.filename), error.kind)
            raise storage.NotAFile(f"{self._name}: {found}") from error
        except OSError as error:
            number = error.errno
            place = f"{self._name}: {_named(path, str(error.filename))}" if path else self._name
            if number in _NOT_FOUND:
                raise storage.NotFound(f"{self._name}: {path}: not found") from error
            if number == errno.EEXIST:
                raise storage.AlreadyExists(f"{place}: exists already") from error
            kind: type[StorageError] = storage.Unavailable
            if number in _DENIED:
                kind = storage.Denied
            elif number in _FULL:
                kind = storage.Full
            raise kind(f"{place}: {error.strerror or error}") from error


def _named(path: str, failed: str) -> str:
    """What failed, where that is a folder above the path or, in a list, below it."""
    is_near = failed.startswith(f"{path}/") or path.startswith(f"{failed}/")
    return failed if is_near else path


def _objects(
    root: int, prefix: str, *, empty: list[str], without_files: bool = False
) -> Generator[StoredObject, None, None]:
    """Every file in the folder `prefix` and below; an error when that is no longer the same one.

    Adds the folders without any entry to `empty`, or also those that have only folders.
    """
    top = _identity(root, prefix)
    waiting = [prefix]
    with Descent(root) as descent:
        while waiting:
            folder = waiting.pop()
            is_empty = True
            try:
                with os.scandir(descent.folder(folder)) as entries:
                    for entry in entries:
                        path = f"{folder}/{entry.name}"
                        is_folder = entry.is_dir(follow_symlinks=False)
                        if is_folder and path.count("/") < DEPTH_MAX:
                            waiting.append(path)
                            is_empty &= without_files
                            continue
                        is_empty = False
                        try:
                            found = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        yield _stored(path, found)
            except _NO_FOLDER:
                continue
            except NotAFileError:
                raise
            except OSError as error:
                error.filename = folder
                raise
            if is_empty:
                empty.append(folder)
    if _identity(root, prefix) != top:
        raise OSError(errno.ESTALE, "the folder was replaced or unmounted while it was listed")


def _identity(root: int, path: str) -> tuple[int, int] | None:
    try:
        with Descent(root) as descent:
            found = os.fstat(descent.folder(path))
    except _NO_FOLDER:
        return None
    return found.st_dev, found.st_ino


def _page(objects: Iterator[StoredObject]) -> list[StoredObject]:
    return list(itertools.islice(objects, PAGE_OBJECTS))


def _stored(path: str, found: os.stat_result) -> StoredObject:
    if stat.S_ISREG(found.st_mode):
        return StoredObject(path, found.st_size, _time(found.st_mtime))
    special = folders.special_kind(found.st_mode) or _TOO_DEEP
    return StoredObject(path, 0, _time(found.st_mtime), special=special)


def _time(seconds: float) -> datetime:
    """A file may have a time that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return _EARLIEST if seconds < 0 else _LATEST


def _head(folder: int, name: str, path: str) -> StoredObject | None:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if kind := folders.special_kind(found.st_mode):
        raise NotAFileError(name, kind)
    return _stored(path, found) if stat.S_ISREG(found.st_mode) else None


def _made(descent: Descent, folder: str) -> int:
    try:
        return descent.folder(folder, make=True)
    except NotADirectoryError as error:
        reason = f"{error.filename} is not a folder; remove it"
        raise OSError(errno.ENOTSUP, reason) from None


def _move(folder: int, name: str, root: int, target: str) -> None:
    folders.refuse_special(name, folder)
    above, _, new_name = target.rpartition("/")
    with Descent(root) as descent:
        try:
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=_made(descent, above))
        except IsADirectoryError:
            raise OSError(errno.ENOTEMPTY, f"{target} is a folder; remove it") from None
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            reason = f"{above} must be on the same file system"
            raise OSError(errno.EXDEV, reason) from None


def _folders(root: int, top: str) -> Iterator[str]:
    """Those that have no files, the deepest first."""
    found: list[str] = []
    for _ in _objects(root, top, empty=found, without_files=True):
        pass
    return reversed(found)


def _remove_empty(root: int, paths: Iterable[str], top: str, before: float) -> int:
    """A folder that becomes empty by this is young and stays until a later run."""
    removed = 0
    with Descent(root) as descent:
        for path in paths:
            above, _, name = path.rpartition("/")
            with contextlib.suppress(OSError):  # it has an entry, or is gone
                folder = descent.folder(above)
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if path != top and found.st_mtime < before:
                    os.rmdir(name, dir_fd=folder)
                    removed += 1
    return removed
