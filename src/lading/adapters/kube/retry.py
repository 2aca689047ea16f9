"""Tries a request again when that is safe, a bounded number of times, as long as the server asks.

Safe means: the request can be repeated without a second effect (a read, a server-side apply), or
the server answered that it did not act (429; 503 with Retry-After), or it was never reached.
Everything else is the caller's, which observes again before it writes again.
"""

import random
from collections.abc import Callable

from lading.kernel.backoff import Backoff
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import Exchange, Request, Response

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
        self, exchange: Exchange, clock: Clock, *, jitter: Callable[[], float] = random.random
    ) -> None:
        self._exchange = exchange
        self._clock = clock
        self._jitter = jitter

    async def __call__(self, request: Request) -> Response:
        for attempt in range(1, ATTEMPTS_MAX):
            try:
                response = await self._exchange(request)
            except kube.Unavailable as error:
                if not (isinstance(error, NotReached) or is_repeatable(request)):
                    raise
                await self._clock.sleep(self._back_off_seconds(attempt))
                continue
            if not _may_try_again(request, response):
                return response
            asked = _retry_after_seconds(response)
            await self._clock.sleep(max(asked, self._back_off_seconds(attempt)))
        return await self._exchange(request)

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
