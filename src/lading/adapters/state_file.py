"""The `StateFile` port as a file: written to a temporary name, made durable, then renamed."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading import files

LOCK_POLL_SECONDS = 0.01  # the lock is held for one read and one write


class LocalStateFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._path.read_bytes)
        except FileNotFoundError:
            return None

    async def replace(self, content: bytes) -> None:
        await asyncio.to_thread(files.write_atomically, self._path, content)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """By a file of its own: the state file itself is replaced."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not _try_to_lock(descriptor):  # noqa: ASYNC110 - another process may hold it
                await asyncio.sleep(LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool:
    """Without waiting: a thread that waits cannot be cancelled."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
