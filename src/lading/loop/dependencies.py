"""Waits for a neighbour that a process cannot begin without, for as long as it takes.

Only trouble that may pass is waited out: nobody answers, or the answer is to come back later.
Everything else is raised at once. Who is waited for can be asked, and is logged now and then.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import structlog

from lading.loop import tasks
from lading.loop.backoff import Backoff
from lading.ports import cri, kube
from lading.ports.clock import Clock

R = TypeVar("R")
MAY_PASS = (kube.Unavailable, kube.TooManyRequests, cri.Transient)
RETRY = Backoff(seconds_min=0.5, seconds_max=15)  # a whole fleet may wait for one API server
SILENCE_SECONDS_MAX = 10.0  # a neighbour that neither answers nor refuses is reported as well
REPORT_SECONDS = 60.0

log = structlog.get_logger(__name__)


class DependencyWaiter:
    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._neighbour = "the start"

    def waiting_for(self) -> tuple[str, ...]:
        """Who is waited for, or was last."""
        return (self._neighbour,)

    async def wait_for(self, neighbour: str, ask: Callable[[], Awaitable[R]]) -> R:
        """What the neighbour answers in the end."""
        self._neighbour = neighbour
        trouble = _Trouble()
        failures = 0
        async with tasks.started(self._report(neighbour, trouble)):
            while True:
                try:
                    return await ask()
                except MAY_PASS as error:
                    trouble.found(error)
                failures += 1
                delay = RETRY.delay_seconds(failures=failures, rng=self._rng)
                await self._clock.sleep(delay)

    async def _report(self, neighbour: str, trouble: "_Trouble") -> NoReturn:
        """The first line comes with the first trouble, and soon in any case."""
        with contextlib.suppress(TimeoutError):
            await tasks.within(self._clock, SILENCE_SECONDS_MAX, trouble.known.wait())
        while True:
            log.warning("waiting", neighbour=neighbour, error=trouble.said)
            await self._clock.sleep(REPORT_SECONDS)


class _Trouble:
    """The newest reason to wait."""

    def __init__(self) -> None:
        self.known = asyncio.Event()
        self.said = "no answer yet"

    def found(self, error: Exception) -> None:
        self.said = str(error)
        self.known.set()
