"""One small file that is only ever read and replaced whole."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class StateFile(Protocol):
    async def read(self) -> bytes | None:
        """None when it was never written."""

    async def replace(self, content: bytes) -> None:
        """Readers, also after a crash, see the old content or the new one."""


class SharedStateFile(StateFile, Protocol):
    """One that several tasks or processes change."""

    def locked(self) -> AbstractAsyncContextManager[None]:
        """No other task or process that asks for the lock has it inside the block."""
