"""Time as a value that is handed in, so that the same code runs in real and in virtual time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow; for measuring and for deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Returns after that many seconds of this clock."""
