"""A watch through everything that may happen to a stream."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from lading.adapters.clock import SystemClock
from lading.adapters.kube import errors
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.transport import NetworkTransport
from lading.kernel.objects import Object
from lading.ports import kube
from lading.ports.http import Request, Response
from lading.ports.kube import EventType, WatchEvent
from tests.adapters.kube import stand
from tests.adapters.kube.stand import CONFIG_MAPS

ADDED = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}\n'
DELETED = b'{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"6"}}}\n'
BOOKMARK = b"""{"type":"BOOKMARK","object":{"kind":"ConfigMap","data":null,"metadata":
{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}""".replace(b"\n", b"")
EXPIRED = b"""{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired",
"message":"too old resource version: 1 (7)","code":410}}\n""".replace(b",\n", b",")


class Canned:
    """An exchange that answers every request with the same chunks, and knows if it was closed."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks
        self.closed = False

    async def __call__(self, request: Request) -> Response:
        return Response(status=200, body=self._stream())

    async def _stream(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self.chunks:
                yield chunk
        finally:
            self.closed = True


async def watched(*chunks: bytes) -> list[WatchEvent[Object]]:
    watch = KubeClient(Canned(*chunks)).watch(CONFIG_MAPS, timeout_seconds=60)
    return [event async for event in watch]


async def test_events_are_the_same_wherever_the_stream_is_cut() -> None:
    whole = ADDED + DELETED + BOOKMARK + b"\n"
    expected = await watched(whole)
    assert [(event.type, event.resource_version) for event in expected] == [
        (EventType.ADDED, "5"),
        (EventType.DELETED, "6"),
        (EventType.BOOKMARK, "9"),
    ]
    for at in range(len(whole)):
        assert await watched(whole[:at], whole[at:]) == expected


async def test_a_bookmark_marks_the_end_of_the_initial_events() -> None:
    (event,) = await watched(BOOKMARK + b"\n")
    assert event.initial_events_end
    assert event.resource_version == "9"


async def test_an_error_event_of_an_old_revision_is_gone() -> None:
    with pytest.raises(kube.Gone, match="too old resource version") as caught:
        await watched(ADDED, EXPIRED)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b'{"type":"RENAMED","object":{}}\n',
        b'{"type":"ADDED","object":[]}\n',
        b'{"type":"ADDED","object":{"kind":"\xff"}}\n',
        b'{"type":"ADDED","object":{"deep":' + b"[" * 9000 + b"]" * 9000 + b"}}\n",
        b'{"type":"ERROR","object":{"message":"\xff"}}\n',
    ],
    ids=["no JSON", "another type", "no object", "no UTF-8", "deep", "an error without UTF-8"],
)
async def test_an_event_that_cannot_be_read_is_a_typed_error(line: bytes) -> None:
    with pytest.raises(errors.Undecodable, match=r"GET /api/v1/configmaps: .* as Object"):
        await watched(line)


async def test_a_stream_that_ends_inside_an_event_is_not_a_quiet_end() -> None:
    with pytest.raises(kube.Unavailable, match="middle of an event"):
        await watched(ADDED, DELETED[:20])


async def test_a_reader_that_stops_closes_the_stream() -> None:
    exchange = Canned(ADDED, DELETED)
    watch = KubeClient(exchange).watch(CONFIG_MAPS, timeout_seconds=60)
    assert (await anext(watch)).type is EventType.ADDED
    await watch.aclose()
    assert exchange.closed


async def test_a_connection_that_falls_silent_is_noticed() -> None:
    """Whether the first event comes in time hangs on the machine."""

    async def silent(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(ADDED)
        await asyncio.Event().wait()
        return response

    async with (
        stand.running(silent) as server,
        NetworkTransport(
            Connection(server=server.url), SystemClock(), watch_idle_seconds=0.2
        ) as exchange,
    ):
        watch = KubeClient(exchange).watch(CONFIG_MAPS, timeout_seconds=60)
        with pytest.raises(kube.Unavailable, match="did not answer in time"):
            _ = [event async for event in watch]


async def test_a_connection_that_is_cut_inside_a_chunk_is_unavailable() -> None:
    async def cut(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(ADDED)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with (
        stand.running(cut) as server,
        NetworkTransport(Connection(server=server.url), SystemClock()) as exchange,
    ):
        watch = KubeClient(exchange).watch(CONFIG_MAPS, timeout_seconds=60)
        with pytest.raises(kube.Unavailable):
            _ = [event async for event in watch]
