"""The store in memory: every version since the last compaction, and the log by resource.

It is the whole store in tests, and the index of the SQLite store.
"""

import bisect
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

HISTORY_CHANGES_MAX = 10_000
"""A watch or a paged list that is further behind must start again."""
HISTORY_BYTES_MAX = 64 * 1024 * 1024
"""Superseded bodies are dropped earlier when they are large."""
COMPACTED_DIVISOR = 2
"""A compaction drops the older half of the history, so that it happens rarely."""


class Key(NamedTuple):
    """A resource such as `daemonsets.apps`, a namespace ("" when cluster-scoped), a name."""

    resource: str
    namespace: str
    name: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one object."""

    key: Key
    revision: int
    body: bytes


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log; a deletion carries the last state of the object."""

    record: Record
    previous: Record | None
    deleted: bool

    @property
    def revision(self) -> int:
        return self.record.revision


class Compacted(Exception):
    """The revision is older than the log."""

    def __init__(self, *, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} was compacted; the oldest kept is {oldest}")


class NotStored(Exception):
    """A change could not be written, for instance to a full disk; nothing has changed."""


class _Shelf(msgspec.Struct):
    """The objects of one resource: their names in order, their versions, their changes."""

    names: list[tuple[str, str]] = []
    versions: dict[tuple[str, str], list[Change]] = {}
    log: list[Change] = []
    dropped: int = 0
    """The latest revision that the log has lost."""


class MemoryStorage:
    def __init__(self) -> None:
        self.revision = 0
        self.compacted = 0
        self._shelves: dict[str, _Shelf] = {}
        self._log: deque[Change] = deque()
        self._history_bytes = 0
        self._loaded_from = 0
        """The last revision that was compacted before the log was loaded from a file."""
        self._listeners: list[Callable[[Change], None]] = []

    def get(self, key: Key) -> Record | None:
        change = self._latest(key)
        return None if change is None or change.deleted else change.record

    def list(
        self, resource: str, *, namespace: str, at: int, after: tuple[str, str] | None
    ) -> Sequence[Record]:
        if at < self.compacted:
            raise Compacted(revision=at, oldest=self.compacted)
        shelf = self._shelves.get(resource, _Shelf())
        start = bisect.bisect_left(shelf.names, (namespace, ""))
        end = bisect.bisect_left(shelf.names, (f"{namespace}\0", "")) if namespace else None
        if after is not None:
            start = bisect.bisect_right(shelf.names, after)
        found = []
        for name in shelf.names[start:end]:
            change = _version_at(shelf.versions[name], at)
            if change is not None and not change.deleted:
                found.append(change.record)
        return found

    def resources(self) -> Sequence[str]:
        return [resource for resource, shelf in self._shelves.items() if shelf.names]

    def put(self, key: Key, body: bytes) -> Record:
        record = Record(key=key, revision=self.revision + 1, body=body)
        self.commit(Change(record=record, previous=self.get(key), deleted=False))
        return record

    def delete(self, key: Key, body: bytes) -> Record:
        record = Record(key=key, revision=self.revision + 1, body=body)
        self.commit(Change(record=record, previous=self.get(key), deleted=True))
        return record

    def changes(self, resource: str, *, after: int) -> Sequence[Change]:
        shelf = self._shelves.get(resource, _Shelf())
        if after < max(shelf.dropped, self._loaded_from):
            raise Compacted(revision=after, oldest=self.compacted)
        log = shelf.log
        return log[bisect.bisect_right(log, after, key=_revision) :]

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        self._listeners.append(listener)

    def commit(self, change: Change) -> None:
        """Makes a change visible and notifies the listeners."""
        self.load(change)
        if len(self._log) > HISTORY_CHANGES_MAX or self._history_bytes > HISTORY_BYTES_MAX:
            self.compact(self._log[len(self._log) // COMPACTED_DIVISOR].revision)
        for listener in self._listeners:
            listener(change)

    def load(self, change: Change) -> None:
        """Makes a change visible, without notifying."""
        assert change.revision > self.revision, "revisions only grow"
        self.revision = change.revision
        key = change.record.key
        shelf = self._shelves.setdefault(key.resource, _Shelf())
        name = (key.namespace, key.name)
        if name not in shelf.versions:
            bisect.insort(shelf.names, name)
            shelf.versions[name] = []
        shelf.versions[name].append(change)
        shelf.log.append(change)
        self._log.append(change)
        self._history_bytes += len(change.previous.body) if change.previous else 0

    def compact(self, revision: int) -> None:
        self.forget(revision)

    def forget(self, revision: int) -> Sequence[int]:
        """Drops versions that no reader at `revision` or later needs; returns their revisions."""
        dead: list[int] = []
        touched: set[str] = set()
        while self._log and self._log[0].revision <= revision:
            change = self._log.popleft()
            touched.add(change.record.key.resource)
            if change.previous is not None:
                dead.append(change.previous.revision)
                self._history_bytes -= len(change.previous.body)
            if change.deleted:
                dead.append(change.revision)
            self._trim(change.record.key, revision)
        for resource in touched:
            shelf = self._shelves[resource]
            lost = bisect.bisect_right(shelf.log, revision, key=_revision)
            shelf.dropped = shelf.log[lost - 1].revision
            del shelf.log[:lost]
        self.compacted = max(self.compacted, revision)
        return dead

    def close(self) -> None:
        self._listeners.clear()

    def _latest(self, key: Key) -> Change | None:
        shelf = self._shelves.get(key.resource)
        versions = shelf.versions.get((key.namespace, key.name)) if shelf else None
        return versions[-1] if versions else None

    def _trim(self, key: Key, revision: int) -> None:
        shelf, name = self._shelves[key.resource], (key.namespace, key.name)
        versions = shelf.versions.get(name)
        if versions is None:
            return
        seen = bisect.bisect_right(versions, revision, key=_revision)
        keep_from = seen if versions[seen - 1].deleted else seen - 1
        del versions[:keep_from]
        if not versions:
            del shelf.versions[name]
            del shelf.names[bisect.bisect_left(shelf.names, name)]


def _revision(change: Change) -> int:
    return change.revision


def _version_at(versions: Sequence[Change], revision: int) -> Change | None:
    if versions[-1].revision <= revision:
        return versions[-1]
    position = bisect.bisect_right(versions, revision, key=_revision)
    return versions[position - 1] if position else None
