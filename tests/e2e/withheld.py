"""Servers that withhold the answer to one request, so that a test can act at that moment.

What was asked for is done by then, and the process that asked does not know.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.ports.http import HttpTransport
from lading.ports.http import Request as HttpRequest
from lading.ports.http import Response as HttpResponse
from tests.cli.prune import openshift

REACHED_SECONDS_MAX = 60.0
"""A process that starts on a busy machine needs several seconds."""
Wanted = Callable[[str, str], bool]
"""By method and path."""


def asked(method: str, part: str) -> Wanted:
    return lambda found, path: found == method and part in path


@dataclass
class Withheld:
    """The moment: one for all servers of a test."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    _wanted: list[Wanted] = field(default_factory=list)
    _let_go: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, *wanted: Wanted) -> None:
        """The answer to the last of these, which come in this order."""
        self._wanted = list(wanted)
        self.reached, self._let_go = asyncio.Event(), asyncio.Event()

    async def until_reached(self, *, seconds_max: float = REACHED_SECONDS_MAX) -> None:
        async with asyncio.timeout(seconds_max):
            await self.reached.wait()

    def let_go(self) -> None:
        """The process is dead; answers go nowhere."""
        self._let_go.set()

    async def pass_by(self, method: str, path: str) -> None:
        if not self._wanted or not self._wanted[0](method, path):
            return
        self._wanted.pop(0)
        if not self._wanted:
            self.reached.set()
            await self._let_go.wait()


@asynccontextmanager
async def api_server(
    exchange: HttpTransport, withheld: Withheld, address: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """The URL of the API server."""

    async def slow(request: HttpRequest) -> HttpResponse:
        answer = await exchange(request)
        await withheld.pass_by(request.method, request.path)
        return answer

    async with openshift.reachable(slow, host=address) as url:
        yield url


@asynccontextmanager
async def registry(host: str, withheld: Withheld, address: str = "127.0.0.1") -> AsyncIterator[str]:
    """The HOST:PORT of a server before the registry at `host`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        async with session.request(
            request.method,
            f"http://{host}{request.raw_path}",
            headers=request.headers,
            data=await request.read(),
            allow_redirects=False,
        ) as found:
            content = await found.read()
        await withheld.pass_by(request.method, request.path)
        return web.Response(status=found.status, headers=found.headers, body=content or None)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        TestServer(app, host=address) as served,
    ):
        yield f"{address}:{served.port}"
