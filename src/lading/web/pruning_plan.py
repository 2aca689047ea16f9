"""Reads the file of `lading prune plan` for each request.

A plan may have a million lines: they are read one by one in a thread, and only one page of those
that match is kept. The contents of a registry, with which a plan can be walked, are kept until the
file changes, when they are not too large.
"""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from lading import files
from lading.kernel.errors import Malformed
from lading.pruning.engine.decisions import plan_contents, plan_file
from lading.pruning.engine.decisions.plan_contents import PlanContents
from lading.pruning.engine.types import Deletion, Header

PAGE_LINES_MAX = 200
CONTENTS_BYTES_MAX = 32 << 20  # about 30,000 images; in memory three times as much


class PlanQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Selects lines by repository, and by a text in names or digests; empty means all."""

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


class PlanLines(msgspec.Struct, frozen=True, kw_only=True):
    header: Header
    lines: tuple[Deletion, ...]
    matching: int
    offset: int


class PlanReader:
    """`file` is None if no plan is shown. With `comes_later` it need not exist yet."""

    def __init__(self, file: Path | None, *, comes_later: bool = False) -> None:
        self._path = file
        self._comes_later = comes_later
        self._header: Header | None = None
        self._header_read_at_ns = 0
        self._contents: PlanContents | None = None
        self._contents_read_at_ns = 0
        self._reading = asyncio.Lock()

    @property
    def _file(self) -> Path | None:
        if self._path is None or (self._comes_later and not self._path.exists()):
            return None
        return self._path

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

    async def contents(self) -> PlanContents | None:
        """None if there is no file, or if it has no contents."""
        if self._file is None:
            return None
        async with self._reading:
            return await asyncio.to_thread(self._current_contents, self._file)

    def _current_header(self, file: Path) -> Header:
        changed_at_ns = file.stat().st_mtime_ns
        if self._header is None or changed_at_ns != self._header_read_at_ns:
            with file.open("rb") as source:
                self._header, _ = plan_file.read(files.bounded_lines(source))
            self._header_read_at_ns = changed_at_ns
        return self._header

    def _current_contents(self, file: Path) -> PlanContents | None:
        changed_at_ns = file.stat().st_mtime_ns
        if changed_at_ns != self._contents_read_at_ns:
            self._contents = None
            with file.open("rb") as source:
                lines = files.bounded_lines(source)
                header, _ = plan_file.read(lines)
                self._contents = plan_contents.read(header, _bounded(lines))
            self._contents_read_at_ns = changed_at_ns
        return self._contents


def _bounded(source: Iterable[bytes]) -> Iterator[bytes]:
    total = 0
    for line in source:
        total += len(line) if line.startswith(plan_contents.BEGINNING) else 0
        if total > CONTENTS_BYTES_MAX:
            raise Malformed(
                what="plan file",
                text=f"more than {CONTENTS_BYTES_MAX >> 20} MiB of contents",
                reason="too large to be shown here; use `lading prune why`",
            )
        yield line


def _read(file: Path, query: PlanQuery) -> PlanLines:
    with file.open("rb") as source:
        header, lines = plan_file.read(files.bounded_lines(source))
        found: list[Deletion] = []
        matching = 0
        for line in lines:
            if query.matches(line):
                if query.offset <= matching < query.offset + PAGE_LINES_MAX:
                    found.append(line)
                matching += 1
    return PlanLines(header=header, lines=tuple(found), matching=matching, offset=query.offset)
