"""The state directory of a node, in memory: it outlives the process, and can be full.

A write is whole or absent, as `adapters/state_files.py` makes it on a real disk. A lock ends with
the process that holds it.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from lading.embedded.sim.processes import CURRENT, Process

LOCK_POLL_SECONDS = 0.01


class Disk:
    """A `StateDirectory`."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.journals: dict[str, dict[str, bytes]] = {}
        self.holders: dict[str, Process] = {}
        self.is_full = False

    def file(self, name: str) -> "File":
        return File(self, name)

    def journal(self, name: str) -> "Lines":
        return Lines(self, name)

    def check_space(self, name: str) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device", name)


class File:
    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._name = name

    async def read(self) -> bytes | None:
        await asyncio.to_thread(lambda: None)
        return self._disk.contents.get(self._name)

    async def replace(self, content: bytes) -> None:
        def write() -> None:
            self._disk.check_space(self._name)
            self._disk.contents[self._name] = content

        await asyncio.to_thread(write)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        holders, me = self._disk.holders, CURRENT.get()
        while self._name in holders and holders[self._name].is_alive:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(LOCK_POLL_SECONDS)
        holders[self._name] = me
        try:
            yield
        finally:
            if holders.get(self._name) is me:
                del holders[self._name]


class Lines:
    """A `Journal`; what is written survives, one line after the other."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._name = name
        self._lines = disk.journals.setdefault(name, {})
        self._entries = {key: msgspec.json.decode(line) for key, line in self._lines.items()}

    def entries(self) -> Mapping[str, Any]:
        return self._entries

    def put(self, key: str, value: Any) -> None:
        self._disk.check_space(self._name)
        self._entries[key] = value
        self._lines[key] = msgspec.json.encode(value)
