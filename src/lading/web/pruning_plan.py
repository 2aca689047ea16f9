"""Reads the file of `lading prune plan`, as often as it is asked for.

A plan may have a million lines: they are read one by one in a thread, and only one page of those
that match is kept.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lading.kernel.errors import Malformed
from lading.pruning.engine import plan_file
from lading.pruning.engine.types import Deletion, Header

PAGE_LINES_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuery:
    """Which lines: of a repository, and with a text in their names or digests; none means all."""

    repository: str = ""
    search: str = ""
    offset: int = 0

    def matches(self, line: Deletion) -> bool:
        if self.repository and line.repository != self.repository:
            return False
        if not self.search:
            return True
        names = (line.repository, line.tag, line.digest, line.reason)
        return any(self.search in name.lower() for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLines:
    header: Header
    lines: tuple[Deletion, ...]
    matching: int
    offset: int


class PlanReader:
    """`file` is None where no plan is shown."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._header: Header | None = None
        self._read_at_ns = 0

    @property
    def name(self) -> str:
        return self._file.name if self._file else ""

    async def header(self) -> Header | str | None:
        """None without a file; a sentence for a file that cannot be read."""
        if self._file is None:
            return None
        try:
            return await asyncio.to_thread(self._current_header, self._file)
        except (OSError, Malformed) as error:
            return str(error)

    async def lines(self, query: PlanQuery) -> PlanLines | None:
        if self._file is None:
            return None
        return await asyncio.to_thread(_read, self._file, query)

    def _current_header(self, file: Path) -> Header:
        changed_at_ns = file.stat().st_mtime_ns
        if self._header is None or changed_at_ns != self._read_at_ns:
            with file.open("rb") as source:
                self._header, _ = plan_file.read(source)
            self._read_at_ns = changed_at_ns
        return self._header


def _read(file: Path, query: PlanQuery) -> PlanLines:
    with file.open("rb") as source:
        header, lines = plan_file.read(source)
        found: list[Deletion] = []
        matching = 0
        for line in lines:
            if query.matches(line):
                if query.offset <= matching < query.offset + PAGE_LINES_MAX:
                    found.append(line)
                matching += 1
    return PlanLines(header=header, lines=tuple(found), matching=matching, offset=query.offset)
