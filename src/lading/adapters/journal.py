"""The `Journal` port as a file of lines: appended to, read whole at the start.

A journal only saves questions, so nothing about its file stops a start: a line that was cut off by
a crash is skipped, and a file that cannot be read, or is too large to be ours, is begun anew.
A link or a pipe at its name is no file of ours either: it is neither followed nor waited for.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import structlog

from lading import files, folders
from lading.kernel.errors import UNREADABLE

BYTES_MAX = 4 * 1024 * 1024  # some 4,000 images; a fuller journal is begun anew

log = structlog.get_logger(__name__)


class FileJournal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes = 0
        self._entries: dict[str, Any] = {}
        try:
            self._read()
        except OSError as error:
            log.warning(
                "journal cannot be read; a new one is started", path=str(path), error=str(error)
            )
            self._set_aside()

    def entries(self) -> Mapping[str, Any]:
        """Everything that is in the journal now."""
        return self._entries

    def put(self, key: str, value: Any) -> None:
        line = b"\n" + msgspec.json.encode([key, value])
        is_full = self._size_bytes + len(line) > BYTES_MAX
        if is_full:
            self._entries.clear()
            self._size_bytes = 0
        if len(line) > BYTES_MAX:
            return
        self._entries[key] = value
        self._size_bytes += len(line)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "wb" if is_full else "ab", opener=_opened) as file:
            file.write(line)

    def _read(self) -> None:
        try:
            with files.opened(self._path.parent) as folder:
                content = folders.read_file(self._path.name, folder, bytes_max=BYTES_MAX)
        except FileNotFoundError:
            return
        if content is None:
            raise OSError(f"it has more than {BYTES_MAX} bytes")
        self._size_bytes = len(content)
        for line in content.splitlines():
            with contextlib.suppress(*UNREADABLE):
                key, value = msgspec.json.decode(line, type=tuple[str, Any])
                self._entries[key] = value

    def _set_aside(self) -> None:
        """What cannot be read may be a folder, which cannot be written over."""
        with contextlib.suppress(OSError):
            self._path.rename(self._path.with_name(f"{self._path.name}.unreadable"))


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
