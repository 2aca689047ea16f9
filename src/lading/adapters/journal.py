"""The `Journal` port as a file of lines: appended to, read whole at the start.

A line that was cut off by a crash is skipped: its fact is found out again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from lading.kernel.errors import UNREADABLE

LINES_MAX = 100_000  # some fifteen megabytes; a fuller journal is begun anew


class FileJournal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _read(path)

    def entries(self) -> Mapping[str, Any]:
        return self._entries

    def put(self, key: str, value: Any) -> None:
        mode = "ab" if len(self._entries) < LINES_MAX else "wb"
        if mode == "wb":
            self._entries.clear()
        self._entries[key] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open(mode) as file:
            file.write(b"\n" + msgspec.json.encode([key, value]))


def _read(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return entries
    for line in lines:
        try:
            key, value = msgspec.json.decode(line, type=tuple[str, Any])
        except UNREADABLE:
            continue
        entries[key] = value
    return entries
