"""Waits, without a limit, for a dependency that a process needs to start.

It waits only for errors that may pass: no connection, a request to retry later, or another owner of
the node. Other errors are raised at once. The current dependency is logged now and then.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NoReturn, TypeVar

import structlog

from lading.kernel.backoff import Backoff
from lading.loop import tasks
from lading.ports import cri, kube, node
from lading.ports.clock import Clock


class ProcessEventReason(StrEnum):
    """On the Lease of the controller, or on the Node of an agent."""

    WAITING_FOR_KINDS = "WaitingForKinds"
    """A feature waits for kinds that the cluster does not serve."""


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
        """The current or last dependency."""
        return (self._dependency,)

    async def wait_for(self, dependency: str, ask: Callable[[], Awaitable[R]]) -> R:
        """Returns the answer of the dependency."""
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
        """Logs at the first error, or after a short silence."""
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
