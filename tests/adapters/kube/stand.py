"""A real HTTP server on loopback that answers as a test tells it to, and a clock in a hurry.

It stands for whatever may be between us and an API server that works: it refuses, is too busy,
drops connections or falls silent. How a healthy server behaves is in the conformance suite.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from lading.kernel.objects import Object, Resource

CONFIG_MAPS: Resource[Object] = Resource(
    group="", version="v1", kind="ConfigMap", plural="configmaps", namespaced=True, type=Object
)
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Stand:
    """Answers with the handlers in turn, the last one for ever; keeps what it was asked."""

    handlers: list[Handler]
    requests: list[web.BaseRequest] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        self.requests.append(request)
        handler = self.handlers.pop(0) if len(self.handlers) > 1 else self.handlers[0]
        return await handler(request)

    def authorizations(self) -> list[str]:
        return [request.headers.get("authorization", "") for request in self.requests]


@contextlib.asynccontextmanager
async def running(*handlers: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Stand]:
    stand = Stand(handlers=list(handlers))
    runner = web.ServerRunner(web.Server(stand.handle), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = runner.addresses[0][:2]
        stand.url = f"{'https' if tls else 'http'}://{host}:{port}"
        yield stand
    finally:
        await runner.cleanup()


def answer(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def handler(_request: web.BaseRequest) -> web.Response:
        return web.json_response(body, status=status, headers=headers)

    return handler


def config_map(name: str = "one") -> Handler:
    return answer({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}})


def refusal(
    code: int, reason: str, message: str = "no", *, headers: dict[str, str] | None = None
) -> Handler:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(body, status=code, headers=headers)


async def drop(request: web.BaseRequest) -> web.StreamResponse:
    """Closes the connection without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


class HurryingClock:
    """Sleeping is over at once, and time has moved on by as much."""

    def __init__(self) -> None:
        self.slept_seconds: list[float] = []
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        self.slept_seconds.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds


async def name_of_the_client(request: web.BaseRequest) -> web.Response:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    names = dict(pair for relative in certificate.get("subject", ()) for pair in relative)
    return web.json_response({"metadata": {"name": names.get("commonName", "anonymous")}})
