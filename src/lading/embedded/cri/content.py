"""Content-addressed blobs on disk: whole and verified, or not there.

    blobs/sha256/<hex>      complete, flushed to disk before it got this name
    ingest/sha256-<hex>     being downloaded; continued by the next pull that needs the blob

It knows no images: a pull leases the blobs that it needs, and a sweep frees all others.
"""

import asyncio
import errno
import hashlib
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from weakref import WeakValueDictionary

import msgspec

from lading import files
from lading.kernel import digests
from lading.kernel.digests import Digest
from lading.ports import cri

READ_BYTES = 1024 * 1024


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    digest: Digest
    size_bytes: int


class Hash(Protocol):
    def update(self, content: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


class ContentStore:
    def __init__(self, root: Path, *, capacity_bytes: int | None = None) -> None:
        self._blobs = root / "blobs"
        self._ingest = root / "ingest"
        self._capacity_bytes = capacity_bytes
        self._leased: Counter[Blob] = Counter()
        self._locks: WeakValueDictionary[Digest, asyncio.Lock] = WeakValueDictionary()
        for algorithm in digests.HEX_LENGTH_BY_ALGORITHM:
            files.make_folder(self._blobs / algorithm)
        files.make_folder(self._ingest)
        self._count()

    def _count(self) -> None:
        sizes = [file.stat().st_size for file in self._files()]
        self.used_bytes = sum(sizes)
        self.files_count = len(sizes)

    def contains(self, digest: Digest) -> bool:
        return self._path(digest).is_file()

    def read(self, digest: Digest) -> bytes:
        return self._path(digest).read_bytes()

    @contextmanager
    def lease(self, blobs: Collection[Blob]) -> Iterator[None]:
        """Protects blobs from a sweep, and reserves their bytes."""
        distinct = set(blobs)
        self._leased.update(distinct)
        try:
            yield
        finally:
            self._leased -= Counter(distinct)

    def require_space(self) -> None:
        """Raises NoSpace if the missing bytes of all leases exceed the capacity."""
        if self._capacity_bytes is None:
            return
        missing = sum(self._missing_bytes(blob) for blob in self._leased)
        if self.used_bytes + missing > self._capacity_bytes:
            raise cri.NoSpace(
                f"no space left on device: {missing} more bytes are needed, {self.used_bytes} of"
                f" {self._capacity_bytes} are used; remove images or raise the capacity"
            )

    async def put(self, blob: Blob, content: bytes) -> None:
        async def whole(offset: int) -> AsyncGenerator[bytes, None]:
            yield content[offset:]

        await self.fetch(blob, whole)

    async def fetch(self, blob: Blob, source: Callable[[int], AsyncGenerator[bytes, None]]) -> None:
        """Downloads a missing blob; `source(offset)` yields its bytes from there on."""
        lock = self._locks.setdefault(blob.digest, asyncio.Lock())
        async with lock:
            if self.contains(blob.digest):
                return
            is_continued = self._partial(blob.digest).exists()
            try:
                await self._download(blob, source)
            except cri.ContentRejected:
                if not is_continued:
                    raise
                # The part of an earlier run may be damaged: start from the beginning.
                await self._download(blob, source)

    async def _download(
        self, blob: Blob, source: Callable[[int], AsyncGenerator[bytes, None]]
    ) -> None:
        partial = self._partial(blob.digest)
        running = hashlib.new(blob.digest.algorithm)
        offset = await asyncio.to_thread(_hash_file, partial, running)
        if offset > blob.size_bytes:
            self._discard(partial)
            offset, running = 0, hashlib.new(blob.digest.algorithm)
        try:
            if offset < blob.size_bytes or not partial.exists():
                await self._append(partial, running, source(offset), blob.size_bytes - offset)
        except OSError as error:
            self._discard(partial)
            self._count()  # the count includes bytes that were never written
            raise _from_disk(error) from error
        if running.hexdigest() != blob.digest.encoded:
            self._discard(partial)
            raise cri.ContentRejected(f"the bytes of {blob.digest} have another digest")
        await _finished(asyncio.to_thread(files.move_into_place, partial, self._path(blob.digest)))

    async def _append(
        self, partial: Path, running: Hash, pieces: AsyncGenerator[bytes, None], expected_bytes: int
    ) -> None:
        received_bytes = 0
        with self._opened(partial) as file:
            async with aclosing(pieces):
                async for piece in pieces:
                    received_bytes += len(piece)
                    if received_bytes > expected_bytes:
                        break
                    file.write(piece)
                    running.update(piece)
                    self.used_bytes += len(piece)
        if received_bytes != expected_bytes:
            self._discard(partial)
            raise cri.ContentRejected(f"{partial.name} is not {expected_bytes} bytes long")

    def _opened(self, partial: Path) -> BinaryIO:
        if not partial.exists():
            self.files_count += 1
        return partial.open("ab")

    def sweep(self, keep: Collection[Digest]) -> None:
        """Deletes every blob and partial download that is neither kept nor leased."""
        needed = {*keep, *(blob.digest for blob in self._leased)}
        spared = {digest.encoded for digest in needed}
        spared |= {_partial_name(digest) for digest in needed}
        for file in list(self._files()):
            if file.name not in spared:
                self._discard(Path(file))

    def _missing_bytes(self, blob: Blob) -> int:
        if self.contains(blob.digest):
            return 0
        with suppress(FileNotFoundError):
            return blob.size_bytes - self._partial(blob.digest).stat().st_size
        # The download has not begun, or a thread has just finished it.
        return 0 if self.contains(blob.digest) else blob.size_bytes

    def _discard(self, file: Path) -> None:
        if file.exists():
            self.used_bytes -= file.stat().st_size
            self.files_count -= 1
            file.unlink()

    def _files(self) -> Iterator[os.DirEntry[str]]:
        for algorithm in digests.HEX_LENGTH_BY_ALGORITHM:
            yield from os.scandir(self._blobs / algorithm)
        yield from os.scandir(self._ingest)

    def _path(self, digest: Digest) -> Path:
        return self._blobs / digest.algorithm / digest.encoded

    def _partial(self, digest: Digest) -> Path:
        return self._ingest / _partial_name(digest)


def _partial_name(digest: Digest) -> str:
    return f"{digest.algorithm}-{digest.encoded}"


def _hash_file(path: Path, running: Hash) -> int:
    """Hashes the bytes of a partial download and returns their number."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        while piece := file.read(READ_BYTES):
            running.update(piece)
        return file.tell()


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """Waits for the work even when cancelled: its thread continues, under the lock."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _from_disk(error: OSError) -> cri.CriError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return cri.NoSpace(f"no space left on device: {error.filename or error}")
    return cri.CriError(f"the content store cannot be written: {error}")
