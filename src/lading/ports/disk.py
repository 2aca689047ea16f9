"""How much space a file system has."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    capacity_bytes: int
    available_bytes: int
    """What an ordinary process may still write."""


class Disk(Protocol):
    async def space(self, path: str) -> Space | None:
        """The file system that holds the path; None when this machine has no such path."""
