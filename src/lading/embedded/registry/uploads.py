"""Uploads in progress: bytes are appended to a file until a digest closes the session.

The file is the whole state, so a session survives a restart of the server. Content that does not
match its digest is deleted and never becomes a blob.
"""

import contextlib
import hashlib
import shutil
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec

from lading import files
from lading.embedded.registry import catalog
from lading.embedded.registry.blobs import Blobs
from lading.embedded.registry.faults import Code, Fault
from lading.embedded.registry.layout import Layout
from lading.embedded.registry.usage import FILE_BYTES_MIN, OverLimit, StoreUsage
from lading.kernel.digests import Digest

SESSION_AGE_MAX = timedelta(days=7)  # the default of the distribution project


class Upload(msgspec.Struct, frozen=True):
    """The open file of one session."""

    file: BinaryIO
    usage: StoreUsage

    @property
    def size_bytes(self) -> int:
        return self.file.tell()

    def expect(self, size_bytes: int) -> None:
        """Raises before the first byte of content that cannot be stored."""
        self.usage.check_blob(self.size_bytes + size_bytes)
        self.usage.check_room(size_bytes)

    def write(self, piece: bytes) -> None:
        self.usage.check_blob(self.size_bytes + len(piece))
        self.usage.take(len(piece))
        self.file.write(piece)


class UploadStore(msgspec.Struct, frozen=True):
    layout: Layout
    blobs: Blobs
    usage: StoreUsage
    _held: set[Path] = set()
    _holding: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def start(self, name: str, now: datetime) -> str:
        session = str(uuid.uuid4())
        folder = self.layout.upload(name, session)
        self.usage.take(FILE_BYTES_MIN)
        files.make_folder(folder)
        started = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        files.write_atomically(folder / "startedat", started.encode())
        (folder / "data").touch()
        return session

    def size(self, name: str, session: str) -> int:
        return self._data(name, session).stat().st_size

    @contextlib.contextmanager
    def appending(self, name: str, session: str) -> Iterator[Upload]:
        """The file, open for one writer at a time. An upload over a limit is deleted."""
        with self._alone(name, session) as data:
            try:
                with data.open("ab") as file:
                    yield Upload(file, self.usage)
            except OverLimit:
                self._delete(data)
                raise

    def finish(self, name: str, session: str, digest: Digest) -> None:
        with self._alone(name, session) as data:
            try:
                _verify(data, digest)
                self.blobs.adopt(name, digest, data)
            finally:
                self._delete(data)

    def cancel(self, name: str, session: str) -> None:
        """Refused while another request writes: its file would use space that is not counted."""
        with self._alone(name, session) as data:
            self._delete(data)

    def purge(self, now: datetime) -> None:
        """Removes the sessions that are too old to be finished."""
        for folder in catalog.repository_folders(self.layout.repositories):
            for started in folder.glob("_uploads/*/startedat"):
                begun = datetime.fromtimestamp(started.stat().st_mtime, tz=UTC)
                if now - begun > SESSION_AGE_MAX:
                    shutil.rmtree(started.parent, ignore_errors=True)

    def _delete(self, data: Path) -> None:
        """Deletes the session, and its content unless that has become a blob."""
        content_bytes = data.stat().st_size if data.exists() else 0
        shutil.rmtree(data.parent, ignore_errors=True)
        self.usage.give_back(content_bytes + FILE_BYTES_MIN)

    @contextlib.contextmanager
    def _alone(self, name: str, session: str) -> Iterator[Path]:
        """One request at a time: verified content must not grow before it is a blob."""
        data = self._data(name, session)
        with self._holding:
            if data in self._held:
                raise Fault(
                    Code.BLOB_UPLOAD_INVALID,
                    "another request is using this upload; wait for it to end",
                    detail=session,
                    status=409,
                )
            self._held.add(data)
        try:
            yield self._data(name, session)
        finally:
            self._held.discard(data)

    def _data(self, name: str, session: str) -> Path:
        """The file of a session; the identifier is checked before it becomes a path."""
        try:
            data = self.layout.upload(name, str(uuid.UUID(session))) / "data"
        except ValueError as error:
            raise _unknown(session) from error
        if not data.is_file():
            raise _unknown(session)
        return data


def _verify(data: Path, digest: Digest) -> None:
    with data.open("rb") as file:
        found = hashlib.file_digest(file, digest.algorithm).hexdigest()
    if found != digest.encoded:
        message = f"the content has the digest {digest.algorithm}:{found}"
        raise Fault(Code.DIGEST_INVALID, message, detail=str(digest))


def _unknown(session: str) -> Fault:
    return Fault(Code.BLOB_UPLOAD_UNKNOWN, "no such upload; begin a new one", detail=session)
