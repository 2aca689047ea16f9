"""Starts what a long-running command consists of, in order, and stops it in the reverse order.

First the informers and what supports the work; when the caches are complete, and where there is
an election when it is won, the controllers. On cancellation the controllers stop first, then the
lease is released, then the rest stops. Nothing that was started outlives `run`.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from lading.loop.election import Elector
from lading.loop.informer import Informers


class Runnable(Protocol):
    """Works until it is cancelled: a controller, a recorder, an actuator."""

    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    informers: Informers
    controllers: tuple[Runnable, ...]
    """Run only while leading, if there is an elector."""
    support: tuple[Runnable, ...] = ()
    elector: Elector | None = None

    async def run(self) -> None:
        """Until cancelled. Raises ExceptionGroup, of LeadershipLost among others."""
        async with asyncio.TaskGroup() as group:
            for one in (self.informers, *self.support):
                group.create_task(one.run())
            await self.informers.wait_synced()
            await (self.elector.lead(self._work) if self.elector else self._work())

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in self.controllers:
                group.create_task(controller.run())
