"""The `StateFile` port as a file: written beside its place, made durable, then renamed."""

import asyncio
from pathlib import Path

from lading import files


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
