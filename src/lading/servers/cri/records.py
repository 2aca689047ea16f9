"""Which images exist, under which names, with which labels: one SQLite file, one transaction each.

An image is one (ID, runtime handler). Names belong to a handler too; labels belong to a name
alone, as in containerd, and an image's own ID is one of its names.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.ports import cri

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    id: str
    handler: str
    manifest: Digest
    media_type: str
    manifest_bytes: int
    size_bytes: int
    user: str


class Records:
    def __init__(self, file: Path) -> None:
        # In autocommit mode a transaction begins where it is written down, nowhere else.
        self._database = sqlite3.connect(file, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(_SCHEMA)

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

    def images(self) -> tuple[StoredImage, ...]:
        rows = self._database.execute("SELECT * FROM image ORDER BY id, handler")
        return tuple(_stored_image(row) for row in rows)

    def named(self, name: str, handler: str) -> StoredImage | None:
        row = self._database.execute(
            "SELECT image.* FROM image JOIN name USING (id, handler)"
            " WHERE name = ? AND handler = ?",
            (name, handler),
        ).fetchone()
        return None if row is None else _stored_image(row)

    def with_id_prefix(self, prefix: str, handler: str) -> tuple[StoredImage, ...]:
        # An ID goes on in hexadecimal, and `g` sorts after every such character.
        rows = self._database.execute(
            "SELECT * FROM image WHERE id >= ? AND id < ? AND handler = ?",
            (prefix, f"{prefix}g", handler),
        )
        return tuple(_stored_image(row) for row in rows)

    def names(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Sorted names by (ID, handler)."""
        grouped: dict[tuple[str, str], tuple[str, ...]] = {}
        for name, handler, image_id in self._database.execute(
            "SELECT name, handler, id FROM name ORDER BY name"
        ):
            key = (image_id, handler)
            grouped[key] = (*grouped.get(key, ()), name)
        return grouped

    def names_of(self, image: StoredImage) -> tuple[str, ...]:
        rows = self._database.execute(
            "SELECT name FROM name WHERE id = ? AND handler = ? ORDER BY name",
            (image.id, image.handler),
        )
        return tuple(name for (name,) in rows)

    def blobs(self) -> set[Digest]:
        rows = self._database.execute("SELECT DISTINCT digest FROM image_blob")
        return {Digest(*text.split(":")) for (text,) in rows}

    def labels(self) -> dict[str, dict[str, str]]:
        grouped: dict[str, dict[str, str]] = {}
        for name, key, value in self._database.execute("SELECT name, key, value FROM label"):
            grouped.setdefault(name, {})[key] = value
        return grouped

    def names_labelled(self, key: str, value: str) -> set[str]:
        rows = self._database.execute(
            "SELECT name FROM label WHERE key = ? AND value = ?", (key, value)
        )
        return {name for (name,) in rows}

    def set_labels(self, name: str, labels: Mapping[str, str]) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM label WHERE name = ?", (name,))
            database.executemany(
                "INSERT INTO label VALUES (?, ?, ?)",
                [(name, key, value) for key, value in labels.items()],
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            with self._database:
                yield self._database
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise cri.NoSpace(f"no space left on device: {error}") from error
            raise


def _stored_image(row: tuple[str, str, str, str, int, int, str]) -> StoredImage:
    image_id, handler, manifest, media_type, manifest_bytes, size_bytes, user = row
    return StoredImage(
        id=image_id,
        handler=handler,
        manifest=digests.parse(manifest),
        media_type=media_type,
        manifest_bytes=manifest_bytes,
        size_bytes=size_bytes,
        user=user,
    )
