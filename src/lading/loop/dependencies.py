"""Waits for a dependency that a process cannot start without, for as long as it takes.

Only an error that may pass is waited for: no connection, the request to come back later, or another
owner of the node. Every other error is raised at once. The dependency that is waited for can be
asked for, and is logged now and then.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import structlog

from lading.kernel.backoff import Backoff
from lading.loop import tasks
from lading.ports import cri, kube, node
from lading.ports.clock import Clock

R = TypeVar("R")
MAY_PASS = (kube.Unavailable, kube.TooManyRequests, cri.Transient, node.NodeOwned)
RETRY = Backoff(seconds_min=0.5, seconds_max=15)  # a whole fleet may wait for one API server
SILENCE_SECONDS_MAX = 10.0  # a dependency that neither answers nor refuses is reported as well
REPORT_SECONDS = 60.0

log = structlog.get_logger(__name__)


class DependencyWaiter:
    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._dependency = "the start"

    def waiting_for(self) -> tuple[str, ...]:
        """The dependency that is waited for, or was last."""
        return (self._dependency,)

    async def wait_for(self, dependency: str, ask: Callable[[], Awaitable[R]]) -> R:
        """The answer of the dependency, once it gives one."""
        self._dependency = dependency
        latest = _LatestError()
        failures = 0
        async with tasks.started(self._report(dependency, latest)):
            while True:
                try:
                    return await ask()
                except MAY_PASS as error:
                    latest.found(error)
                failures += 1
                delay = RETRY.delay_seconds(failures=failures, jitter=self._rng.random())
                await self._clock.sleep(delay)

    async def _report(self, dependency: str, latest: "_LatestError") -> NoReturn:
        """The first line comes with the first error, and soon in any case."""
        with contextlib.suppress(TimeoutError):
            await tasks.within(self._clock, SILENCE_SECONDS_MAX, latest.known.wait())
        while True:
            log.warning("waiting", dependency=dependency, error=latest.message)
            await self._clock.sleep(REPORT_SECONDS)


class _LatestError:
    """The newest reason to wait."""

    def __init__(self) -> None:
        self.known = asyncio.Event()
        self.message = "no answer yet"

    def found(self, error: Exception) -> None:
        self.message = str(error)
        self.known.set()
