"""Retries and a rate limit in front of a transport.

A request is retried when that is safe: it can be repeated without a second effect (a read, a
server-side apply), or the server answered that it did not act (429; 503 with Retry-After), or the
server was never reached. In all other cases the caller observes again before it writes again.

The rate limit is a token bucket. The server has limits of its own (priority and fairness); ours
keeps a bug of Lading from slowing down every other client.
"""

import asyncio
import random
from collections.abc import Callable

from lading.kernel.backoff import Backoff
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport, Request, Response

ATTEMPTS_MAX = 5
BACK_OFF = Backoff(seconds_min=0.2, seconds_max=2.5, jitter_fraction=1.0)
RETRY_AFTER_SECONDS_MAX = 30.0
APPLY_PATCH = "application/apply-patch+yaml"
_TOO_MANY_REQUESTS = 429
_SERVICE_UNAVAILABLE = 503
_SERVER_ERRORS = frozenset({500, 502, 503, 504})


class NotReached(kube.Unavailable):
    """No connection could be made, so nothing was sent and everything may be tried again."""


def not_reached(address: str, reason: str) -> NotReached:
    return NotReached(f"Cannot connect to {address}: {reason[:1].lower()}{reason[1:]}")


class Retrying:
    def __init__(
        self, transport: HttpTransport, clock: Clock, *, jitter: Callable[[], float] = random.random
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._jitter = jitter

    async def __call__(self, request: Request) -> Response:
        for attempt in range(1, ATTEMPTS_MAX):
            try:
                response = await self._transport(request)
            except kube.Unavailable as error:
                if not (isinstance(error, NotReached) or is_repeatable(request)):
                    raise
                await self._clock.sleep(self._back_off_seconds(attempt))
                continue
            if not _may_try_again(request, response):
                return response
            asked = _retry_after_seconds(response)
            await self._clock.sleep(max(asked, self._back_off_seconds(attempt)))
        return await self._transport(request)

    def _back_off_seconds(self, attempt: int) -> float:
        return BACK_OFF.delay_seconds(failures=attempt, jitter=self._jitter())


def is_repeatable(request: Request) -> bool:
    if request.method == "PATCH":
        return request.headers.get("content-type") == APPLY_PATCH
    return request.method in ("GET", "HEAD")


def _may_try_again(request: Request, response: Response) -> bool:
    if response.status == _TOO_MANY_REQUESTS:
        return True
    if response.status == _SERVICE_UNAVAILABLE and "retry-after" in response.headers:
        return True
    return response.status in _SERVER_ERRORS and is_repeatable(request)


def _retry_after_seconds(response: Response) -> float:
    """Kubernetes answers whole seconds; the date form of HTTP is treated as no answer."""
    text = response.headers.get("retry-after", "")
    return min(float(text), RETRY_AFTER_SECONDS_MAX) if text.isdecimal() else 0.0


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
    """A transport that takes a token for every request; a watch takes one as it starts."""

    def __init__(self, transport: HttpTransport, bucket: TokenBucket) -> None:
        self._transport = transport
        self._bucket = bucket

    async def __call__(self, request: Request) -> Response:
        await self._bucket.take()
        return await self._transport(request)
