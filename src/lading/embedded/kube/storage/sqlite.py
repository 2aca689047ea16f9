"""The store on disk: one append-only table with the row id as revision, in WAL mode.

Reads are answered by the index in memory, which is filled from the table when it is opened. A
change is visible only after its transaction has been committed. `synchronous=NORMAL` hands every
commit to the operating system before it is acknowledged, so a killed process loses nothing; a
power cut may lose the last moments, and never leaves the table inconsistent.
"""

import pathlib
import sqlite3

from lading.embedded.kube.storage.memory import Change, Key, MemoryStorage, NotStored, Record

_TABLES = """
CREATE TABLE IF NOT EXISTS changes (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS compaction (revision INTEGER NOT NULL);
"""
_INSERT = (
    "INSERT INTO changes (revision, resource, namespace, name, deleted, body) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_SELECT = "SELECT revision, resource, namespace, name, deleted, body FROM changes ORDER BY revision"


class Locked(Exception):
    """Another process has the data open; two writers would not see each other's changes."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(
            f"{path} is in use by another process; stop that process, or choose another folder"
        )


class Unusable(Exception):
    """The file cannot be opened, or is no database of this server."""

    def __init__(self, path: pathlib.Path, reason: object) -> None:
        super().__init__(f"{path}: {reason}; choose another path, or remove it to start empty")


class SqliteStorage(MemoryStorage):
    """The index in memory, with every change written to the table first."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection
        self._fill()

    def commit(self, change: Change) -> None:
        row = (change.revision, *change.record.key, change.deleted, change.record.body)
        try:
            with self._connection:
                self._connection.execute(_INSERT, row)
        except sqlite3.Error as error:
            raise NotStored(f"the change could not be stored: {error}") from error
        super().commit(change)

    def compact(self, revision: int) -> None:
        dead = self.forget(revision)
        with self._connection:
            self._connection.execute("DELETE FROM compaction")
            self._connection.execute("INSERT INTO compaction VALUES (?)", (revision,))
            self._connection.executemany(
                "DELETE FROM changes WHERE revision = ?", ((each,) for each in dead)
            )

    def close(self) -> None:
        super().close()
        self._connection.close()

    def _fill(self) -> None:
        for revision, resource, namespace, name, deleted, body in self._connection.execute(_SELECT):
            key = Key(resource, namespace, name)
            record = Record(key=key, revision=revision, body=body)
            previous = self.get(key)
            self.load(Change(record=record, previous=previous, deleted=bool(deleted)))
        (compacted,) = self._connection.execute("SELECT max(revision) FROM compaction").fetchone()
        self._loaded_from = compacted or 0
        self.forget(self._loaded_from)
        self.revision = max(self.revision, self._last_revision())

    def _last_revision(self) -> int:
        """The row with the latest revision may be gone: a deletion that was compacted."""
        found = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
        ).fetchone()
        return int(found[0]) if found else 0


def open(path: pathlib.Path) -> SqliteStorage:  # noqa: A001 - read as sqlite.open
    """Opens the file, or makes it; only one process may have it open."""
    path.touch(mode=0o600)  # it holds Secrets: readable by the owner only, from the start
    connection = sqlite3.connect(path, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        return SqliteStorage(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        if "locked" in str(error):
            raise Locked(path) from error
        raise Unusable(path, error) from error
