"""The token bucket lets a burst through and then keeps the pace."""

import asyncio

from lading.adapters.kube.limiter import RateLimited, TokenBucket
from lading.ports.http import Request, Response
from tests.adapters.kube.stand import HurryingClock


async def test_a_burst_passes_and_the_rest_keeps_the_pace() -> None:
    clock = HurryingClock()
    bucket = TokenBucket(clock, per_second=10, burst=3)
    for _ in range(5):
        await bucket.take()
    assert [round(seconds, 6) for seconds in clock.slept_seconds] == [0.1, 0.1]


async def test_a_quiet_time_fills_the_bucket_but_not_beyond_its_size() -> None:
    clock = HurryingClock()
    bucket = TokenBucket(clock, per_second=10, burst=2)
    clock.advance(60)
    for _ in range(3):
        await bucket.take()
    assert len(clock.slept_seconds) == 1


async def test_requests_at_once_are_let_through_in_order() -> None:
    sent: list[str] = []

    async def record(request: Request) -> Response:
        sent.append(request.path)
        return Response(status=200)

    limited = RateLimited(record, TokenBucket(HurryingClock(), per_second=5, burst=1))
    paths = [f"/{number}" for number in range(20)]
    await asyncio.gather(*(limited(Request(method="GET", path=path)) for path in paths))
    assert sent == paths
