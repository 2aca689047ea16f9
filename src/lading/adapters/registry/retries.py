"""Tries the endpoints of a reference in turn, and all of them again while that may help.

A refusal by the registry itself counts; by a mirror it only means that the next one is asked.
Between rounds there is a pause: as long as the registry asked for, or growing, with jitter.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from lading.adapters.registry.endpoints import Endpoint
from lading.kernel.backoff import Backoff
from lading.ports.clock import Clock
from lading.ports.registry import RegistryError, Transient

BACK_OFF = Backoff(seconds_min=0.25, seconds_max=5.0, jitter_fraction=1.0)


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True):
    downloads_per_host_max: int = 16  # more gave no more throughput when measured
    connections_per_host_max: int = 20  # short questions need not wait until a download ends
    connections_max: int = 128
    connect_seconds_max: float = 10.0
    answer_seconds_max: float = 60.0
    """From the request, or the last piece of its body, to the end of the answer's headers."""
    stall_seconds_max: float = 60.0
    """Between two pieces of a body."""
    window_seconds: float = 20.0
    window_bytes_min: int = 64 * 1024
    """A body that keeps us waiting for a window must bring this much in it."""
    attempts_max: int = 4
    back_off: Backoff = BACK_OFF
    retry_after_seconds_max: float = 30.0
    """A registry that asks for more is reported instead of waited for."""
    redirects_max: int = 5
    tags_max: int = 100_000
    large_bodies_max: int = 4
    """Read at one time, of all registries; more wait. So memory holds a few large answers only."""
    credentials_tried_max: int = 8


LARGE_BODY_BYTES = 64 * 1024
"""Larger than nearly all manifests: who sends more is slowed down, and the others are not."""
LARGE_BODY_SECONDS_MAX = 120.0
ERROR_BYTES_MAX = 64 * 1024
TOKEN_ANSWER_BYTES_MAX = 1024 * 1024
TAGS_PAGE_BYTES_MAX = 4 * 1024 * 1024
TAGS_PAGE_NAMES = 1000
PAGES_MAX = 10_000  # a registry with more lists for ever, or shortens our pages too much


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
