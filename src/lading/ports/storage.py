"""The storage of a registry as the pruner sees it: objects with times, whole lists, bulk deletion.

A path is relative to the root that the registry has; folders are no objects. `check_path` is the
one place that refuses a path that could lead out of the root.

StorageError              the storage or the connection to it failed; names the storage
├── NotFound              no such object, or no such bucket
├── Denied                the credentials do not allow it
├── AlreadyExists         an object that must be new is there
├── Changed               an object is no longer the version that was read
├── TooLarge              more than the caller accepts
├── Unsupported           this kind of storage cannot do it
├── Full                  no space is left
├── BadPath               the path is not one below the root
├── NotAFile              a link, a pipe, a socket or a device has the name of a file or folder
└── Unavailable           no answer, or a failure of the storage itself
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from lading.kernel import errors as kernel_errors
from lading.kernel import paths as paths_

SYMBOLIC_LINK = "a symbolic link"
SHOWN_CHARACTERS_MAX = 512  # of a path: the longest name of a repository, and what is around it


class StorageError(Exception):
    pass


class NotFound(StorageError):
    pass


class Denied(StorageError):
    pass


class AlreadyExists(StorageError):
    pass


class Changed(StorageError):
    pass


class TooLarge(StorageError):
    pass


class Unsupported(StorageError):
    pass


class Full(StorageError):
    pass


class Unavailable(StorageError):
    pass


class BadPath(StorageError):
    pass


class NotAFile(StorageError):
    pass


def check_path(path: str) -> None:
    """Refuses what is empty, absolute, or has an empty name, `.`, `..` or a NUL in it."""
    if not paths_.is_below(path):
        raise BadPath(
            f"{kernel_errors.shown(path)} is no path in a storage: expected names between slashes,"
            " none of them empty, '.' or '..'"
        )


def bad_paths(paths: Iterable[str]) -> dict[str, StorageError]:
    found: dict[str, StorageError] = {}
    for path in paths:
        try:
            check_path(path)
        except BadPath as error:
            found[path] = error
    return found


def shown(path: str) -> str:
    """On one line, because every writer of the storage chooses names."""
    line = path.replace("\n", "\\n")
    return line if len(line) <= SHOWN_CHARACTERS_MAX else f"{line[:SHOWN_CHARACTERS_MAX]}…"


def not_a_file(path: str, kind: str) -> str:
    """Says what was found, and what to do about it."""
    path = shown(path)
    if kind == SYMBOLIC_LINK:
        return (
            f"{path} is {kind}, and links in a storage are not followed. Replace it with what it"
            " names; a folder on another volume can be mounted there (mount --bind)"
        )
    return f"{path} is {kind}, not a file; remove it"


class StoredObject(msgspec.Struct, frozen=True, gc=False):
    path: str
    size_bytes: int
    modified_at: datetime
    """By the clock of the storage."""
    version: str = ""
    """Of the content, for a conditional `put`; empty where the storage has none."""
    special: str = ""
    """What it is instead of a file, such as `a symbolic link`; it then has no content."""


class OnlyNew(msgspec.Struct, frozen=True):
    """The condition of a `put` that creates an object and replaces none."""


class OnlyVersion(msgspec.Struct, frozen=True):
    """The condition of a `put` that replaces exactly this version."""

    version: str


class Storage(Protocol):
    @property
    def copy_bytes_max(self) -> int | None:
        """The largest object that `move` surely finishes; None for no limit."""

    def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        """Every object in the folder `prefix` and below; a list that breaks off is an error."""

    async def head(self, path: str) -> StoredObject | None: ...

    async def read(self, path: str, *, bytes_max: int) -> bytes: ...

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None: ...

    async def move(self, source: str, target: str) -> None:
        """Atomic on files; on object storage a copy and then a deletion."""

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        """The objects that could not be deleted, and why. A missing object counts as deleted."""

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        """Removes older empty folders below `prefix`; returns their number."""
