"""The processes of a simulation. Every callback belongs to one, by its context."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable


class Process:
    """One operating system process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.is_paused = False
        self.turns_left: int | None = None
        """It is killed after so many callbacks; None if it lives on."""
        self.queue: deque[asyncio.Handle] = deque()
        self.on_death: list[Callable[[], object]] = []
        self.context = contextvars.Context()
        self.context.run(CURRENT.set, self)

    def __repr__(self) -> str:
        return f"<process {self.name}>"


CURRENT: contextvars.ContextVar[Process] = contextvars.ContextVar("process")
