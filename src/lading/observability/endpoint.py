"""/metrics, /healthz and /readyz of a long-running command, on their own port.

Healthy means: the event loop answers. Ready means: nothing is left that the command waits for,
which usually are caches that are not complete yet. A feature that waits for its kinds is listed
and keeps nothing from being ready. A command may add pages of JSON about what it does at the
moment. Nothing here changes anything.
"""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import prometheus_client

# Not from `aiohttp.web`: its applications and files would be 1.3 MB of every agent.
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response
from aiohttp.web_server import Server
from prometheus_client import CollectorRegistry, exposition

from lading.kernel.host_guard import HostGuard

CLUSTER_DOMAINS = (".svc", ".svc.cluster.local")  # the name of a Service, which no web page has
SHUTDOWN_SECONDS_MAX = 1.0  # a scrape that is still being answered

Pages = Mapping[str, Callable[[], Awaitable[Any]]]
"""Path -> function that returns the JSON value of the page."""

Answers = Mapping[str, Callable[[], Awaitable[Response]]]


@asynccontextmanager
async def serve(
    *,
    host: str,
    port: int,
    registry: CollectorRegistry,
    waiting_for: Callable[[], tuple[str, ...]],
    waiting_features: Callable[[], tuple[str, ...]] = tuple,
    pages: Callable[[], Pages] = dict,
) -> AsyncIterator[str]:
    """Serves while the block runs and yields the URL; port 0 takes any that is free.

    All three are asked anew for every request.
    """

    def find() -> Answers:
        return answers(registry, waiting_for(), waiting_features(), pages())

    async with serve_answers(host=host, port=port, find=find) as url:
        yield url


@asynccontextmanager
async def serve_answers(*, host: str, port: int, find: Callable[[], Answers]) -> AsyncIterator[str]:
    """Results are not cached."""
    guard = HostGuard.of((host, *CLUSTER_DOMAINS))
    server = Server(_by_path(guard, find, any_host=not _is_loopback(host)), access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, host, port)
    try:
        bound_port = listener.sockets[0].getsockname()[1]
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound_port}"
    finally:
        listener.close()
        server.pre_shutdown()
        await server.shutdown(SHUTDOWN_SECONDS_MAX)


def answers(
    registry: CollectorRegistry,
    waiting_for: tuple[str, ...],
    waiting_features: tuple[str, ...],
    pages: Pages,
) -> Answers:
    async def metrics() -> Response:
        return Response(
            body=prometheus_client.generate_latest(registry),
            headers={"Content-Type": exposition.CONTENT_TYPE_LATEST},
        )

    async def healthy() -> Response:
        return Response(text="ok\n")

    async def ready() -> Response:
        if waiting_for:
            return Response(status=503, text=f"waiting for {', '.join(waiting_for)}\n")
        lines = (f"feature waits: {one}\n" for one in waiting_features)
        return Response(text="".join(("ok\n", *lines)))

    shown = {path: _json_page(content) for path, content in pages.items()}
    return {"/metrics": metrics, "/healthz": healthy, "/readyz": ready, **shown}


def _by_path(
    guard: HostGuard, find: Callable[[], Answers], *, any_host: bool
) -> Callable[[BaseRequest], Awaitable[Response]]:
    """Any host name is accepted: `pods/proxy` forwards the name of the API server."""

    async def answer(request: BaseRequest) -> Response:
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        refusal = guard.refusal(host=None if any_host and origin is None else host, origin=origin)
        if refusal:
            return Response(status=403, text=f"{refusal}\n")
        found = find()
        page = found.get(request.path)
        if page is None:
            return Response(status=404, text=f"not found; there are {', '.join(found)}\n")
        if request.method not in ("GET", "HEAD"):
            return Response(status=405, headers={"Allow": "GET, HEAD"})
        return await page()

    return answer


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _json_page(content: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        body = msgspec.json.encode(await content())
        return Response(body=body, content_type="application/json")

    return answer
