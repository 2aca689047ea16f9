"""The health endpoints and the metrics over real HTTP, and the counting exchange."""

from collections.abc import Awaitable, Callable

import aiohttp
import prometheus_client
import pytest

from lading.observability import endpoint
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.ports.http import Request, Response


async def get(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_ready_means_that_nothing_is_waited_for() -> None:
    missing = ["pods", "nodes"]
    async with endpoint.serve(
        host="127.0.0.1",
        port=0,
        registry=prometheus_client.CollectorRegistry(),
        waiting_for=lambda: tuple(missing),
    ) as url:
        assert await get(f"{url}/healthz") == (200, "ok\n")
        assert await get(f"{url}/readyz") == (503, "waiting for pods, nodes\n")
        missing.clear()
        assert await get(f"{url}/readyz") == (200, "ok\n")
        assert (await get(f"{url}/elsewhere"))[0] == 404
    with pytest.raises(aiohttp.ClientConnectorError):
        await get(f"{url}/healthz")


async def test_a_feature_that_waits_is_listed_and_the_command_is_ready() -> None:
    waiting = ["pinned-images: pinnedimagesets v1", "widgets: widgets v2"]
    async with endpoint.serve(
        host="127.0.0.1",
        port=0,
        registry=prometheus_client.CollectorRegistry(),
        waiting_for=tuple,
        waiting_features=lambda: tuple(waiting),
    ) as url:
        lines = "".join(f"feature waits: {one}\n" for one in waiting)
        assert await get(f"{url}/readyz") == (200, f"ok\n{lines}")
        waiting.clear()
        assert await get(f"{url}/readyz") == (200, "ok\n")


async def test_metrics_are_those_of_the_registry_that_was_handed_in() -> None:
    metrics = Metrics(prometheus_client.CollectorRegistry())
    metrics.reconciles.labels("pools", "success").inc()
    async with endpoint.serve(
        host="::1", port=0, registry=metrics.registry, waiting_for=tuple
    ) as url:
        status, text = await get(f"{url}/metrics")
    assert status == 200
    assert 'lading_reconciles_total{controller="pools",outcome="success"} 1.0' in text


async def test_a_page_shows_what_is_so_at_the_moment() -> None:
    state = {"pulls": 1}

    async def shown() -> dict[str, int]:
        return state

    async with endpoint.serve(
        host="127.0.0.1",
        port=0,
        registry=prometheus_client.CollectorRegistry(),
        waiting_for=tuple,
        pages=lambda: {"/state": shown},
    ) as url:
        assert await get(f"{url}/state") == (200, '{"pulls":1}')
        state["pulls"] = 2
        assert await get(f"{url}/state") == (200, '{"pulls":2}')


async def test_a_page_may_come_while_the_endpoint_is_served() -> None:
    pages: dict[str, Callable[[], Awaitable[object]]] = {}

    async def shown() -> dict[str, int]:
        return {"pulls": 1}

    async with endpoint.serve(
        host="127.0.0.1",
        port=0,
        registry=prometheus_client.CollectorRegistry(),
        waiting_for=tuple,
        pages=lambda: pages,
    ) as url:
        assert (await get(f"{url}/state"))[0] == 404
        pages["/state"] = shown
        assert await get(f"{url}/state") == (200, '{"pulls":1}')


async def test_the_endpoint_is_only_read() -> None:
    async with (
        endpoint.serve(
            host="127.0.0.1",
            port=0,
            registry=prometheus_client.CollectorRegistry(),
            waiting_for=tuple,
        ) as url,
        aiohttp.ClientSession() as session,
    ):
        async with session.post(f"{url}/healthz") as refused:
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")
        async with session.head(f"{url}/healthz") as answer:
            assert (answer.status, await answer.read()) == (200, b"")


async def test_an_unknown_path_is_answered_with_the_known_ones() -> None:
    async def nothing() -> None:
        raise AssertionError("it is not asked for")

    async with endpoint.serve(
        host="127.0.0.1",
        port=0,
        registry=prometheus_client.CollectorRegistry(),
        waiting_for=tuple,
        pages=lambda: {"/state": nothing},
    ) as url:
        there_are = "not found; there are /metrics, /healthz, /readyz, /state\n"
        assert await get(f"{url}/elsewhere") == (404, there_are)


async def test_requests_are_counted_by_method_and_code_also_when_there_is_no_answer() -> None:
    metrics = Metrics(prometheus_client.CollectorRegistry())

    async def exchange(request: Request) -> Response:
        if request.path == "/lost":
            raise kube.Unavailable("connection reset")
        return Response(status=404)

    measured = metrics.measured(exchange)
    assert (await measured(Request(method="GET", path="/x"))).status == 404
    with pytest.raises(kube.Unavailable):
        await measured(Request(method="PATCH", path="/lost"))
    sample = metrics.registry.get_sample_value
    assert sample("lading_client_requests_total", {"method": "GET", "code": "404"}) == 1
    assert sample("lading_client_requests_total", {"method": "PATCH", "code": "none"}) == 1
    assert sample("lading_client_request_seconds_count", {"method": "GET"}) == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "10.0.0.7:8080"}, 200),
        ({"Host": "lading-controller.lading-system.svc:8080"}, 200),
    ],
)
async def test_a_web_page_is_refused_and_a_scrape_is_answered(
    headers: dict[str, str], status: int
) -> None:
    async with (
        endpoint.serve(
            host="127.0.0.1",
            port=0,
            registry=prometheus_client.CollectorRegistry(),
            waiting_for=tuple,
        ) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/metrics", headers=headers) as response,
    ):
        assert response.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "api.example.com:6443"}, 200),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
    ],
)
async def test_beyond_loopback_the_api_server_may_hand_on_any_host(
    headers: dict[str, str], status: int
) -> None:
    async with (
        endpoint.serve(
            host="0.0.0.0",
            port=0,
            registry=prometheus_client.CollectorRegistry(),
            waiting_for=tuple,
        ) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/metrics", headers=headers) as response,
    ):
        assert response.status == status
