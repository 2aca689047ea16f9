"""How much space a file system has."""

from typing import Protocol

import msgspec


class Space(msgspec.Struct, frozen=True, kw_only=True):
    capacity_bytes: int
    available_bytes: int
    """What an ordinary process may still write."""


class Disk(Protocol):
    async def space(self, path: str) -> Space | None:
        """The file system that holds the path; None when this machine has no such path."""
