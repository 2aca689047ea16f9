"""The ledger as a file, which a confirmed run reads once and writes twice.

Before the first deletion it gets the planned deletions, after the last one those that failed. So
the next run can finish an interrupted run.
"""

from collections.abc import Collection, Iterable

from lading.kernel.errors import Malformed
from lading.ports.node import StateFile
from lading.pruning.engine import ledger
from lading.pruning.engine.ledger import Ledger
from lading.pruning.engine.types import Deletion


class LedgerFile:
    """Without a file every ledger is empty."""

    def __init__(self, file: StateFile | None) -> None:
        self._file = file

    async def read(self) -> Ledger:
        return ledger.decode(None if self._file is None else await self._file.read())

    async def begin(self, fresh: Ledger) -> None:
        if self._file is not None:
            await self._file.replace(ledger.encode(fresh))

    async def end(self, begun: Ledger, over: Iterable[Deletion]) -> None:
        """`over` are the lines to drop: deleted, or not begun."""
        if self._file is not None and begun.unfinished:
            await self._file.replace(ledger.encode(ledger.finished(begun, over)))

    async def forget(self, repository: str, manifests: Collection[str]) -> None:
        """A restored image must not be deleted as the rest of an interrupted run."""
        try:
            found = await self.read()
        except Malformed:
            return  # the next run reports it and deletes nothing
        left = ledger.without(found, repository, manifests)
        if self._file is not None and left != found:
            await self._file.replace(ledger.encode(left))
