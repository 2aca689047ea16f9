"""What is tried again, how often, and how long is waited in between."""

import asyncio

import pytest

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.retry import (
    ATTEMPTS_MAX,
    RETRY_AFTER_SECONDS_MAX,
    NotReached,
    RateLimited,
    Retrying,
    TokenBucket,
)
from lading.adapters.kube.transport import NetworkTransport
from lading.ports import kube
from lading.ports.http import Request, Response
from tests.adapters.kube import stand
from tests.adapters.kube.stand import CONFIG_MAPS, HurryingClock

APPLIED = {"metadata": {"name": "one", "namespace": "default"}}


async def ask(url: str, clock: HurryingClock, verb: str) -> None:
    async with NetworkTransport(Connection(server=url), clock) as exchange:
        client = KubeClient(Retrying(exchange, clock))
        match verb:
            case "get":
                await client.get(CONFIG_MAPS, "one", namespace="default")
            case "create":
                await client.create(CONFIG_MAPS, APPLIED)
            case "patch":
                await client.patch(CONFIG_MAPS, "one", {}, namespace="default")
            case "apply":
                await client.apply(CONFIG_MAPS, APPLIED, field_manager="test")
            case "delete":
                await client.delete(CONFIG_MAPS, "one", namespace="default")


@pytest.mark.parametrize("verb", ["get", "create", "patch", "apply", "delete"])
@pytest.mark.parametrize("code", [429, 503])
async def test_a_server_that_asks_to_come_back_later_is_obeyed(verb: str, code: int) -> None:
    clock = HurryingClock()
    busy = stand.refusal(code, "TooManyRequests", headers={"Retry-After": "7"})
    async with stand.running(busy, stand.config_map()) as server:
        await ask(server.url, clock, verb)
        assert len(server.requests) == 2
    assert clock.slept_seconds == [7]


@pytest.mark.parametrize("verb", ["get", "apply"])
@pytest.mark.parametrize("failure", [stand.drop, stand.refusal(500, "InternalError")])
async def test_a_request_without_a_second_effect_is_tried_again(
    verb: str, failure: stand.Handler
) -> None:
    async with stand.running(failure, stand.config_map()) as server:
        await ask(server.url, HurryingClock(), verb)


@pytest.mark.parametrize(
    ("verb", "failure"),
    [
        ("create", stand.drop),
        ("create", stand.refusal(500, "InternalError")),
        ("create", stand.refusal(503, "Timeout")),
        ("patch", stand.drop),
        ("patch", stand.refusal(504, "Timeout")),
        ("delete", stand.refusal(500, "InternalError")),
    ],
)
async def test_a_write_that_may_have_happened_is_never_repeated(
    verb: str, failure: stand.Handler
) -> None:
    async with stand.running(failure) as server:
        with pytest.raises(kube.Unavailable):
            await ask(server.url, HurryingClock(), verb)
        assert len(server.requests) == 1


async def test_attempts_are_bounded_and_the_last_refusal_is_raised() -> None:
    async with stand.running(stand.refusal(429, "TooManyRequests", "slow down")) as server:
        with pytest.raises(kube.TooManyRequests, match="slow down"):
            await ask(server.url, HurryingClock(), "create")
        assert len(server.requests) == ATTEMPTS_MAX


async def test_back_off_grows_and_a_long_wish_is_cut() -> None:
    clock = HurryingClock()
    wish = stand.refusal(429, "TooManyRequests", headers={"Retry-After": "86400"})
    none = stand.refusal(429, "TooManyRequests")
    async with stand.running(none, none, none, wish, stand.config_map()) as server:
        await ask(server.url, clock, "get")
    first, second, third, wished = clock.slept_seconds
    assert 0.2 <= first <= 0.4 <= second <= 0.8 <= third <= 1.6
    assert wished == RETRY_AFTER_SECONDS_MAX


async def test_a_server_that_is_not_there_is_tried_again_for_every_verb() -> None:
    clock = HurryingClock()
    async with stand.running(stand.config_map()) as server:
        url = server.url
    with pytest.raises(NotReached, match=r"^Cannot connect to 127.0.0.1:\d+: connection refused$"):
        await ask(url, clock, "create")
    assert len(clock.slept_seconds) == ATTEMPTS_MAX - 1


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
