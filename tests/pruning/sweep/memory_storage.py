"""A storage in memory with a clock of its own, which a test can cut off at any change."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lading.ports import storage as storages
from lading.ports.storage import OnlyNew, OnlyVersion, StorageError, StoredObject

PAGE = 1000
START = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


class CutOff(BaseException):
    """As kill -9: no handler of the code under test runs on it."""


@dataclass
class MemoryStorage:
    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    now: datetime = START
    copy_bytes_max: int | None = None
    changes: int = 0
    changes_max: int | None = None
    """After so many changes it is cut off."""
    before_change: Callable[[str], None] = lambda _path: None
    after_list: Callable[[str], None] = lambda _prefix: None
    """Called at the end of each list."""
    locked: set[str] = field(default_factory=set)
    """Paths that cannot be deleted."""
    reads: list[str] = field(default_factory=list)

    def pass_time(self, **parts: float) -> None:
        self.now += timedelta(**parts)

    def _change(self, path: str) -> None:
        if self.changes == self.changes_max:
            raise CutOff
        self.changes += 1
        self.before_change(path)

    async def pages(self, prefix: str) -> AsyncIterator[Sequence[StoredObject]]:
        paths = [one for one in sorted(self.objects) if one.startswith(f"{prefix}/")]
        for begin in range(0, len(paths), PAGE):
            page = [self._stored(one) for one in paths[begin : begin + PAGE] if one in self.objects]
            yield page
        self.after_list(prefix)

    def _stored(self, path: str) -> StoredObject:
        content, time = self.objects[path]
        return StoredObject(path, len(content), time, str(hash(content)))

    async def head(self, path: str) -> StoredObject | None:
        return self._stored(path) if path in self.objects else None

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        self.reads.append(path)
        if path not in self.objects:
            raise storages.NotFound(path)
        content, _ = self.objects[path]
        if len(content) > bytes_max:
            raise storages.TooLarge(path)
        return content

    async def put(
        self, path: str, content: bytes, *, condition: OnlyNew | OnlyVersion | None = None
    ) -> None:
        self._change(path)
        known = self.objects.get(path)
        if isinstance(condition, OnlyNew) and known is not None:
            raise storages.AlreadyExists(path)
        if isinstance(condition, OnlyVersion) and (
            known is None or str(hash(known[0])) != condition.version
        ):
            raise storages.Changed(path)
        self.objects[path] = content, self.now

    async def move(self, source: str, target: str) -> None:
        """As object storage does it: a copy, and then a deletion."""
        self._change(target)
        if source not in self.objects:
            raise storages.NotFound(source)
        self.objects[target] = self.objects[source][0], self.now
        self._change(source)
        self.objects.pop(source, None)

    async def delete(self, paths: Sequence[str]) -> Mapping[str, StorageError]:
        await asyncio.sleep(0)  # others may work meanwhile
        failures: dict[str, StorageError] = {}
        for path in paths:
            self._change(path)
            if path in self.locked:
                failures[path] = storages.Denied(f"{path}: locked")
            else:
                self.objects.pop(path, None)
        return failures

    async def remove_empty_folders(self, prefix: str, *, before: datetime) -> int:
        return 0
