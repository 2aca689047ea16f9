"""A clock that callers pass in, so that code also runs in virtual time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow; for measuring and for deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Returns after that many seconds of this clock."""
