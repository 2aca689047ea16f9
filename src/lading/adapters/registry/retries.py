"""Tries the endpoints of a reference in turn, and all of them again while that may help.

A refusal by the registry itself counts; by a mirror it only means that the next one is asked.
Between rounds there is a pause: as long as the registry asked for, or growing, with jitter.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.limits import ClientLimits
from lading.ports.clock import Clock
from lading.ports.registry import RegistryError, Transient

T = TypeVar("T")


class Retries:
    def __init__(self, clock: Clock, limits: ClientLimits, jitter: Callable[[], float]) -> None:
        self._clock = clock
        self._limits = limits
        self._jitter = jitter

    async def first(
        self, endpoints: Sequence[Endpoint], ask: Callable[[Endpoint], Awaitable[T]]
    ) -> T:
        """What the first endpoint answers that has an answer."""
        attempt = 0
        while True:
            try:
                return await _one_round(endpoints, ask)
            except Transient as error:
                attempt += 1
                await self.pause(error, attempt=attempt)

    async def pause(self, error: Transient, *, attempt: int) -> None:
        """Waits before the next attempt, or raises the error when there must be none."""
        asked_seconds = error.retry_after_seconds or 0.0
        too_long = asked_seconds > self._limits.retry_after_seconds_max
        if attempt >= self._limits.attempts_max or too_long:
            raise error
        back_off = self._limits.back_off.delay_seconds(failures=attempt, jitter=self._jitter())
        await self._clock.sleep(asked_seconds + back_off)


async def _one_round(endpoints: Sequence[Endpoint], ask: Callable[[Endpoint], Awaitable[T]]) -> T:
    for endpoint in endpoints[:-1]:
        try:
            return await ask(endpoint)
        except RegistryError as error:
            if not endpoint.is_mirror and not isinstance(error, Transient):
                raise
    return await ask(endpoints[-1])
