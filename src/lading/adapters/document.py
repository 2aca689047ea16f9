"""The `Document` port as a file: written beside its place, made durable, then renamed."""

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path


class FileDocument:
    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._path.read_bytes)
        except FileNotFoundError:
            return None

    async def replace(self, content: bytes) -> None:
        await asyncio.to_thread(self._replace, content)

    def _replace(self, content: bytes) -> None:
        folder = self._path.parent
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=folder, prefix=f".{self._path.name}.")
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        _make_durable(folder)


def _make_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
