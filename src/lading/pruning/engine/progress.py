"""How far a run is. The run writes it, and who shows it reads it from time to time."""

import msgspec

from lading.pruning.engine.types import Mention, PrunePlan


class PruneProgress(msgspec.Struct):
    phase: str = ""
    done: int = 0
    total: int = 0
    """0 where it is not known."""
    plan: PrunePlan | None = None
    """What is carried out, from when it is made."""
    unknown: tuple[Mention, ...] = ()
    """References that cannot be read."""

    def begin(self, phase: str, total: int = 0) -> None:
        self.phase, self.done, self.total = phase, 0, total

    def advance(self, count: int = 1) -> None:
        self.done += count
