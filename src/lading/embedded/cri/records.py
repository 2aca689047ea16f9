"""The images with their names and labels, in one SQLite file.

An image has an ID and a runtime handler, and so has a name. Labels belong to a name of any handler,
as in containerd; the ID of an image is one of its names.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.kernel.errors import UNREADABLE, Malformed
from lading.ports import cri

# A damaged file can raise errors that are no text, and MemoryError.
_DAMAGED = (sqlite3.DatabaseError, MemoryError, *UNREADABLE)
_ImageRow = tuple[str, str, str, str, int, int, str]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS image (
    id TEXT, handler TEXT, manifest TEXT, media_type TEXT, manifest_bytes INTEGER, size INTEGER,
    user TEXT, PRIMARY KEY (id, handler)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS image_blob (
    id TEXT, handler TEXT, digest TEXT, PRIMARY KEY (id, handler, digest)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS name (
    name TEXT, handler TEXT, id TEXT, PRIMARY KEY (name, handler)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS label (
    name TEXT, key TEXT, value TEXT, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS name_by_image ON name (id, handler);
"""


class StoredImage(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    handler: str
    manifest: Digest
    media_type: str
    manifest_bytes: int
    size_bytes: int
    user: str


class Unusable(Exception):
    """The file is damaged or of another kind."""

    def __init__(self, file: Path, reason: object) -> None:
        super().__init__(
            f"{file}: not the records of a container runtime: {reason}; remove its folder to start"
            " with an empty one"
        )


class Records:
    def __init__(self, file: Path) -> None:
        self._file = file
        # In autocommit mode a transaction begins only with an explicit BEGIN.
        self._database = sqlite3.connect(file, isolation_level=None)
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
        except _DAMAGED as error:
            self._database.close()
            raise Unusable(file, error) from error

    def close(self) -> None:
        self._database.close()

    def add(self, image: StoredImage, *, names: Collection[str], blobs: Collection[Digest]) -> None:
        """Stores the image and moves the names to it, all or nothing."""
        key = (image.id, image.handler)
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO image VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, str(image.manifest), image.media_type, image.manifest_bytes,
                 image.size_bytes, image.user),
            )  # fmt: skip
            database.executemany(
                "INSERT OR IGNORE INTO image_blob VALUES (?, ?, ?)",
                [(*key, str(digest)) for digest in blobs],
            )
            database.executemany(
                "INSERT OR REPLACE INTO name VALUES (?, ?, ?)",
                [(name, image.handler, image.id) for name in names],
            )
            # containerd replaces the record of a pulled tag, and with it the tag's labels.
            database.executemany(
                "DELETE FROM label WHERE name = ?", [(name,) for name in names if "@" not in name]
            )

    def remove(self, image_id: str, handler: str) -> None:
        key = (image_id, handler)
        with self._transaction() as database:
            for table in ("image", "image_blob", "name"):
                database.execute(
                    f"DELETE FROM {table} WHERE id = ? AND handler = ?",  # noqa: S608
                    key,
                )
            database.execute(
                "DELETE FROM label WHERE name NOT IN (SELECT name FROM name)"
                " AND name NOT IN (SELECT id FROM image)"
            )

    def give_name(self, name: str, image: StoredImage) -> None:
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO name VALUES (?, ?, ?)", (name, image.handler, image.id)
            )

    def remove_name(self, name: str) -> None:
        with self._transaction() as database:
            for table in ("name", "label"):
                database.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608

    def images(self) -> tuple[StoredImage, ...]:
        return self._images("SELECT * FROM image ORDER BY id, handler")

    def named(self, name: str, handler: str) -> StoredImage | None:
        found = self._images(
            "SELECT image.* FROM image JOIN name USING (id, handler)"
            " WHERE name = ? AND handler = ?",
            name,
            handler,
        )
        return found[0] if found else None

    def with_id_prefix(self, prefix: str, handler: str) -> tuple[StoredImage, ...]:
        # An ID continues in hexadecimal, and `g` sorts after every such character.
        return self._images(
            "SELECT * FROM image WHERE id >= ? AND id < ? AND handler = ?",
            prefix,
            f"{prefix}g",
            handler,
        )

    def names(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Sorted names by (ID, handler)."""
        grouped: dict[tuple[str, str], tuple[str, ...]] = {}
        rows = self._rows(tuple[str, str, str], "SELECT name, handler, id FROM name ORDER BY name")
        for name, handler, image_id in rows:
            key = (image_id, handler)
            grouped[key] = (*grouped.get(key, ()), name)
        return grouped

    def names_of(self, image: StoredImage) -> tuple[str, ...]:
        rows = self._rows(
            tuple[str],
            "SELECT name FROM name WHERE id = ? AND handler = ? ORDER BY name",
            image.id,
            image.handler,
        )
        return tuple(name for (name,) in rows)

    def blobs(self) -> set[Digest]:
        rows = self._rows(tuple[str], "SELECT DISTINCT digest FROM image_blob")
        return {self._digest(text) for (text,) in rows}

    def labels(self) -> dict[str, dict[str, str]]:
        grouped: dict[str, dict[str, str]] = {}
        for name, key, value in self._rows(
            tuple[str, str, str], "SELECT name, key, value FROM label"
        ):
            grouped.setdefault(name, {})[key] = value
        return grouped

    def names_labelled(self, key: str, value: str) -> set[str]:
        rows = self._rows(
            tuple[str], "SELECT name FROM label WHERE key = ? AND value = ?", key, value
        )
        return {name for (name,) in rows}

    def set_labels(self, name: str, labels: Mapping[str, str]) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM label WHERE name = ?", (name,))
            database.executemany(
                "INSERT INTO label VALUES (?, ?, ?)",
                [(name, key, value) for key, value in labels.items()],
            )

    def _images(self, query: str, *values: str) -> tuple[StoredImage, ...]:
        return tuple(
            StoredImage(
                id=image_id,
                handler=handler,
                manifest=self._digest(manifest),
                media_type=media_type,
                manifest_bytes=manifest_bytes,
                size_bytes=size_bytes,
                user=user,
            )
            for image_id, handler, manifest, media_type, manifest_bytes, size_bytes, user in (
                self._rows(_ImageRow, query, *values)
            )
        )

    def _rows(self, row: Any, query: str, *values: str) -> list[Any]:
        """Rows of a tuple type, checked: SQLite stores values of any type in any column."""
        try:
            found = self._database.execute(query, values).fetchall()
            rows: list[Any] = msgspec.convert(found, list[row])
            return rows
        except _DAMAGED as error:
            raise Unusable(self._file, error) from error

    def _digest(self, text: str) -> Digest:
        try:
            return digests.parse(text)
        except Malformed as error:
            raise Unusable(self._file, error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:
                yield self._database
        except _DAMAGED as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_FULL:
                raise cri.NoSpace(f"no space left on device: {error}") from error
            raise Unusable(self._file, error) from error
