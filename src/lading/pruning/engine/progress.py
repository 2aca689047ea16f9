"""The progress of a run. The run writes it; the command line and reports read it."""

import msgspec

from lading.pruning.engine.types import Mention, PrunePlan


class PruneProgress(msgspec.Struct):
    phase: str = ""
    done: int = 0
    total: int = 0
    """0 if unknown."""
    plan: PrunePlan | None = None
    """The plan of the run, as soon as it is made."""
    unknown: tuple[Mention, ...] = ()
    """References that cannot be read."""

    def begin(self, phase: str, total: int = 0) -> None:
        self.phase, self.done, self.total = phase, 0, total

    def advance(self, count: int = 1) -> None:
        self.done += count
