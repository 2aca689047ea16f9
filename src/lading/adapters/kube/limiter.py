"""A request rate limit in front of an exchange: a token bucket on the clock port.

Requests wait for their turn in order. The server has limits of its own (priority and fairness);
this one keeps a bug of ours from slowing down every other client.
"""

import asyncio

from lading.ports.clock import Clock
from lading.ports.http import Exchange, Request, Response

REQUESTS_PER_SECOND = 50.0
BURST_REQUESTS = 100


class TokenBucket:
    """Grants `burst` requests at once and `per_second` on average."""

    def __init__(self, clock: Clock, *, per_second: float, burst: int) -> None:
        assert per_second > 0, "a bucket that is never filled blocks for ever"
        assert burst >= 1, "a bucket that holds no token grants nothing"
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        async with self._turn:
            self._fill()
            if self._tokens < 1:
                await self._clock.sleep((1 - self._tokens) / self._per_second)
                self._fill()
            self._tokens -= 1

    def _fill(self) -> None:
        now = self._clock.monotonic()
        gained = (now - self._filled_at) * self._per_second
        self._tokens = min(self._burst, self._tokens + gained)
        self._filled_at = now


class RateLimited:
    """An exchange that takes a token for every request; a watch takes one as it starts."""

    def __init__(self, exchange: Exchange, bucket: TokenBucket) -> None:
        self._exchange = exchange
        self._bucket = bucket

    async def __call__(self, request: Request) -> Response:
        await self._bucket.take()
        return await self._exchange(request)
