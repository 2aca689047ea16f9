"""Runs the parts of features in one process, and stops them in the reverse order.

Informers and what supports the work run from the start. The controllers of a part run when its
caches are complete and, where there is an election, while this process leads. A part that waits
keeps no other from working. On cancellation the controllers stop first, then the lease is
released, then the rest stops. Nothing that was started outlives `run`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain

import msgspec

from lading.loop.election import Elector
from lading.loop.feature import Page, Runnable
from lading.loop.informer import Informers
from lading.loop.managed_part import ManagedPart

Report = Callable[[str, tuple[str, ...]], Awaitable[None]]
"""Reports a feature that waits, by its name and what is missing."""


async def _report_nothing(name: str, missing: tuple[str, ...]) -> None:
    pass


class Manager(msgspec.Struct, frozen=True, kw_only=True):
    informers: Informers
    parts: tuple[ManagedPart, ...]
    support: tuple[Runnable, ...] = ()
    elector: Elector | None = None
    report: Report = _report_nothing
    """Called once for each feature that waits, by the process that leads."""

    def unsynced(self) -> tuple[str, ...]:
        """What keeps the process from being ready: caches that are not complete yet."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.unsynced()))

    def waiting(self) -> tuple[str, ...]:
        """The features that wait for kinds, each with what is missing."""
        found = ((name, self._missing(name)) for name in self._features())
        return tuple(f"{name}: {'; '.join(missing)}" for name, missing in found if missing)

    def pages(self) -> dict[str, Page]:
        """By path, of the parts that are open."""
        return {path: page for part in self.parts for path, page in part.pages().items()}

    async def run(self) -> None:
        """Until cancelled. Raises ExceptionGroup, of LeadershipLost among others."""
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
        """When it is known of all its parts which kinds they have."""
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
