"""The ledger of a registry as a file that a confirmed run reads, and writes twice.

Before the first deletion it says what is about to be deleted, after the last one what is left of
that: a run that is ended in between is finished by the next one.
"""

from collections.abc import Collection, Iterable

from lading.kernel.errors import Malformed
from lading.ports.state_file import StateFile
from lading.pruning.engine import ledger
from lading.pruning.engine.ledger import Ledger
from lading.pruning.engine.types import Deletion


class LedgerFile:
    """Without a file nothing is remembered."""

    def __init__(self, file: StateFile | None) -> None:
        self._file = file

    async def read(self) -> Ledger:
        return ledger.decode(None if self._file is None else await self._file.read())

    async def begin(self, fresh: Ledger) -> None:
        if self._file is not None:
            await self._file.replace(ledger.encode(fresh))

    async def end(self, begun: Ledger, over: Iterable[Deletion]) -> None:
        """`over` are the lines that need not be remembered: deleted, or not even begun."""
        if self._file is not None and begun.unfinished:
            await self._file.replace(ledger.encode(ledger.finished(begun, over)))

    async def forget(self, repository: str, manifests: Collection[str]) -> None:
        """What a user restored must not be deleted as the rest of an ended run."""
        try:
            found = await self.read()
        except Malformed:
            return  # the next run ends with it, and deletes nothing
        left = ledger.without(found, repository, manifests)
        if self._file is not None and left != found:
            await self._file.replace(ledger.encode(left))
