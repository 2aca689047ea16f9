"""A way to an API server that can be bad: down, hanging, silent, or cut. Wraps any exchange."""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec

from lading.kernel.values import replace
from lading.loop import tasks
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport, Request, Response

ONE_OBJECT = "1"
"""The limit of a list that only asks for the revision."""


class Link:
    def __init__(self, exchange: HttpTransport, clock: Clock) -> None:
        self._exchange = exchange
        self._clock = clock
        self._cut = asyncio.Event()
        self.served: list[Request] = []
        self.is_down = False
        self.hangs = False
        self.is_silent = False
        """Watches stay open and deliver nothing, as over a half-open connection."""
        self.refuses_initial_events = False
        self.spoils = b""
        """These bytes of an object arrive as a list, which is not what its type has there."""
        self.bookmarks_only = False
        """Every watch is one bookmark about nothing new, and its end."""
        self.goes_back = False
        """Every watch that is resumed begins with a bookmark of an earlier revision."""
        self.gone_pages = 0
        """So many times the revision of a list is gone when its second page is asked for."""
        self.restored: tuple[HttpTransport, Callable[[], int]] | None = None
        """The server after a restore, and its revision. As kube-apiserver, it sends nothing to a
        watch from a revision of the future until it has caught up."""
        self.latency_seconds = 0.0
        """What a request takes on its way, and the answer on its way back."""

    @property
    def lists(self) -> int:
        """How often the first page of a list, or all initial events, were asked for."""
        queries = [dict(request.query) for request in self.served if request.method == "GET"]
        limits = [query.get("limit") for query in queries]
        pages = sum(limit not in (None, ONE_OBJECT) for limit in limits)
        return pages + sum("sendInitialEvents" in query for query in queries)

    @property
    def watches(self) -> int:
        return sum("watch" in dict(request.query) for request in self.served)

    def cut_watches(self) -> None:
        """Ends every open watch, as a server does that restarts."""
        self._cut.set()
        self._cut = asyncio.Event()

    async def __call__(self, request: Request) -> Response:
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_down:
            raise kube.Unavailable("connection refused")
        if self.refuses_initial_events and "sendInitialEvents" in dict(request.query):
            return Response(status=422, body=b"sendInitialEvents is forbidden")
        await self._travel()
        self.served.append(request)
        query = dict(request.query)
        if self.bookmarks_only and "resourceVersion" in query:
            return Response(status=200, body=bookmark(query["resourceVersion"]))
        if self.goes_back and "resourceVersion" in query:
            return Response(status=200, body=bookmark("1"))
        if self.gone_pages and "continue" in query:
            self.gone_pages -= 1
            return Response(status=410, body=b"the provided continue parameter is too old")
        if self.restored is not None:
            self._exchange, revision = self.restored
            if "watch" in query and int(query.get("resourceVersion") or 0) > revision():
                return Response(status=200, body=_silence())
        response = await self._exchange(request)
        await self._travel()
        if isinstance(response.body, bytes):
            return replace(response, body=self._passed(response.body))
        return Response(status=response.status, body=self._relay(response.body))

    def _passed(self, read: bytes) -> bytes:
        return read.replace(self.spoils, b"[]") if self.spoils else read

    async def _travel(self) -> None:
        if self.latency_seconds:
            await self._clock.sleep(self.latency_seconds)

    async def _relay(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        is_dead = False
        try:
            async with tasks.started(self._cut.wait()) as cut:
                while True:
                    async with tasks.started(next_chunk(body)) as chunk:
                        await asyncio.wait({chunk, cut}, return_when=asyncio.FIRST_COMPLETED)
                    if chunk.cancelled() or (read := chunk.result()) is None:
                        return
                    is_dead = is_dead or self.is_silent  # a stream never skips what it lost
                    if not is_dead:
                        yield self._passed(read)
        finally:
            await body.aclose()  # type: ignore[attr-defined]


async def _silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


def bookmark(revision: str) -> bytes:
    metadata = {"resourceVersion": revision}
    return msgspec.json.encode({"type": "BOOKMARK", "object": {"metadata": metadata}}) + b"\n"


async def next_chunk(stream: AsyncIterator[bytes]) -> bytes | None:
    return await anext(stream, None)
