"""The ledger of a registry as a file that a confirmed run reads, and writes twice.

Before the first deletion it says what is about to be deleted, after the last one what is left of
that: a run that is ended in between is finished by the next one.
"""

from collections.abc import Iterable

from lading.ports.state_file import StateFile
from lading.pruning.engine import ledger
from lading.pruning.engine.effects.apply import PruneOutcome, Result
from lading.pruning.engine.ledger import Ledger


class LedgerFile:
    """Without a file nothing is remembered."""

    def __init__(self, file: StateFile | None) -> None:
        self._file = file

    async def read(self) -> Ledger:
        return ledger.decode(None if self._file is None else await self._file.read())

    async def begin(self, fresh: Ledger) -> None:
        if self._file is not None:
            await self._file.replace(ledger.encode(fresh))

    async def end(self, begun: Ledger, outcomes: Iterable[PruneOutcome]) -> None:
        """The last outcome of a line counts: what was deleted may have been restored."""
        last = {outcome.line.identity: outcome for outcome in outcomes}
        deleted = [one.line for one in last.values() if one.result is Result.DELETED]
        if self._file is not None and begun.unfinished:
            await self._file.replace(ledger.encode(ledger.finished(begun, deleted)))
