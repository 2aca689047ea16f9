"""Runs the components of features in one process, and stops them in the reverse order.

Informers and supports run from the start. The controllers of a component run when its caches are
complete and, if there is an election, while this process leads. A component that waits blocks no
other. On cancellation the controllers stop first, then the lease is released, then the rest stops.
No task outlives `run`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain

import msgspec

from lading.loop.component_runner import ComponentRunner
from lading.loop.election import Elector
from lading.loop.feature import Page, Runnable
from lading.loop.informer import Informers

Report = Callable[[str, tuple[str, ...]], Awaitable[None]]
"""Reports the name of a waiting feature, and its missing kinds."""


async def _report_nothing(name: str, missing: tuple[str, ...]) -> None:
    pass


class Manager(msgspec.Struct, frozen=True, kw_only=True):
    informers: Informers
    parts: tuple[ComponentRunner, ...]
    support: tuple[Runnable, ...] = ()
    elector: Elector | None = None
    report: Report = _report_nothing
    """The leader calls it once for each waiting feature."""

    def unsynced(self) -> tuple[str, ...]:
        """Why the process is not ready: incomplete caches."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.unsynced()))

    def waiting(self) -> tuple[str, ...]:
        """The features that wait for kinds, each with the missing kinds."""
        found = ((name, self._missing(name)) for name in self._features())
        return tuple(f"{name}: {'; '.join(missing)}" for name, missing in found if missing)

    def pages(self) -> dict[str, Page]:
        """By path, of the open components."""
        return {path: page for part in self.parts for path, page in part.pages().items()}

    async def run(self) -> None:
        """Runs until cancelled. Raises an ExceptionGroup, for instance with LeadershipLost."""
        async with asyncio.TaskGroup() as group:
            for one in (self.informers, *self.support, *self.parts):
                group.create_task(one.run())
            await (self.elector.lead(self._control) if self.elector else self._control())

    async def _control(self) -> None:
        async with asyncio.TaskGroup() as group:
            for part in self.parts:
                group.create_task(part.control())
            for name in self._features():
                group.create_task(self._report_waiting(name))

    async def _report_waiting(self, name: str) -> None:
        """Returns when the served kinds of all its components are known."""
        for part in self.parts:
            if part.name == name:
                await part.checked.wait()
        if missing := self._missing(name):
            await self.report(name, missing)

    def _features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.name for part in self.parts))

    def _missing(self, name: str) -> tuple[str, ...]:
        own = (part.waits_for() for part in self.parts if part.name == name)
        return tuple(dict.fromkeys(chain.from_iterable(own)))
