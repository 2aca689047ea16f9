"""Trouble that passes: attempts, pauses, and downloads that go on where they were."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import downloads
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.retries import ClientLimits
from lading.embedded import sample_images
from lading.kernel import references
from lading.kernel.digests import Digest
from lading.kernel.manifests import OCI_LAYER_GZIP, Descriptor
from lading.ports import registry
from tests.adapters.registry.hostile import Answering, Received, head, served, whole

IMAGE = sample_images.image([{"a": b"b"}])
MANIFEST = whole(IMAGE.manifest.content, f"Content-Type: {IMAGE.manifest.media_type}")


class SleepRecorder(SystemClock):
    """The machine's clock, except that sleeping takes no time and is remembered."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock() -> SleepRecorder:
    return SleepRecorder()


@pytest.fixture
async def client(clock: SleepRecorder) -> AsyncIterator[RegistryClient]:
    async with registry_client.connect(clock, jitter=lambda: 1.0) as opened:
        yield opened


def in_turn(*answers: bytes) -> Answering:
    remaining = list(answers)

    async def answering(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(remaining.pop(0) if len(remaining) > 1 else remaining[0])

    return answering


def refusal(status: str, *lines: str) -> bytes:
    return whole(b"", *lines, status=status)


async def test_a_registry_that_recovers_is_asked_again_after_growing_pauses(
    client: RegistryClient, clock: SleepRecorder
) -> None:
    busy = refusal("503 Service Unavailable")
    async with served(in_turn(busy, busy, MANIFEST)) as server:
        found = await client.manifest(references.parse(f"{server.host}/app:v1"))
    assert found == IMAGE.manifest
    assert clock.slept == [0.5, 1.0]


async def test_a_pause_that_the_registry_asks_for_is_kept(
    client: RegistryClient, clock: SleepRecorder
) -> None:
    busy = refusal("429 Too Many Requests", "Retry-After: 7")
    async with served(in_turn(busy, MANIFEST)) as server:
        await client.manifest(references.parse(f"{server.host}/app:v1"))
    assert clock.slept == [7.5]


async def test_a_pause_that_is_too_long_is_reported_instead_of_waited_for(
    client: RegistryClient, clock: SleepRecorder
) -> None:
    busy = refusal("429 Too Many Requests", "Retry-After: 3600")
    async with served(in_turn(busy)) as server:
        with pytest.raises(registry.TooManyRequests) as caught:
            await client.manifest(references.parse(f"{server.host}/app:v1"))
    assert caught.value.retry_after_seconds == 3600
    assert clock.slept == []


async def test_a_registry_that_stays_down_is_given_up_after_the_last_attempt(
    client: RegistryClient, clock: SleepRecorder
) -> None:
    async with served(in_turn(refusal("500 Internal Server Error"))) as server:
        with pytest.raises(registry.Unavailable, match=r"unavailable \(500\)"):
            await client.manifest(references.parse(f"{server.host}/app:v1"))
        assert len(server.received) == ClientLimits().attempts_max
    assert len(clock.slept) == ClientLimits().attempts_max - 1


async def test_a_refusal_is_not_asked_again(client: RegistryClient) -> None:
    async with served(in_turn(refusal("403 Forbidden"))) as server:
        with pytest.raises(registry.Denied):
            await client.manifest(references.parse(f"{server.host}/app:v1"))
        assert len(server.received) == 1


def serving_parts(content: bytes, *, piece_bytes: int, ranges: bool) -> Answering:
    """Breaks every connection after some bytes, and the offset is where the client says it is."""

    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        begin = int(request.headers.get("range", "bytes=0-")[6:-1]) if ranges else 0
        size = len(content)
        lines = [f"Content-Length: {size - begin}"]
        if begin:
            lines.append(f"Content-Range: bytes {begin}-{size - 1}/{size}")
        writer.write(head("206 Partial Content" if begin else "200 OK", *lines))
        writer.write(content[begin : begin + piece_bytes])

    return answering


def described(content: bytes) -> Descriptor:
    return Descriptor(media_type=OCI_LAYER_GZIP, digest=Digest.of(content), size_bytes=len(content))


async def test_a_download_goes_on_where_its_connection_was_lost(client: RegistryClient) -> None:
    content = bytes(range(256)) * 4096 * 8
    step = downloads.PROGRESS_BYTES_MIN + 1
    async with served(serving_parts(content, piece_bytes=step, ranges=True)) as server:
        app = references.parse(f"{server.host}/app:v1")
        got = b"".join([piece async for piece in client.blob(app, described(content))])
    assert got == content
    assert len(server.received) > ClientLimits().attempts_max


async def test_a_connection_that_is_lost_after_the_last_byte_costs_nothing(
    client: RegistryClient,
) -> None:
    """There is nothing left to ask for, and a registry refuses to send nothing."""
    content = bytes(1000)
    chunk = f"{len(content):x}\r\n".encode() + content + b"\r\n"
    endless = head("200 OK", "Transfer-Encoding: chunked") + chunk
    no_more = refusal("416 Range Not Satisfiable")
    async with served(in_turn(endless, no_more)) as server:
        app = references.parse(f"{server.host}/app:v1")
        assert b"".join([piece async for piece in client.blob(app, described(content))]) == content
        whole_already = client.blob(app, described(content), offset=len(content))
        assert [piece async for piece in whole_already] == []
        assert len(server.received) == 1


async def test_a_registry_without_ranges_sends_all_again_and_what_is_known_is_dropped(
    client: RegistryClient,
) -> None:
    content = bytes(range(256)) * 100
    cut = serving_parts(content, piece_bytes=1000, ranges=False)
    uncut = serving_parts(content, piece_bytes=len(content), ranges=False)
    async with served(one_then(cut, uncut)) as server:
        app = references.parse(f"{server.host}/app:v1")
        got = b"".join([piece async for piece in client.blob(app, described(content))])
    assert got == content
    assert server.received[1].headers["range"] == "bytes=1000-"


async def test_a_registry_that_answers_another_range_is_refused(client: RegistryClient) -> None:
    content = bytes(1000)
    wrong = whole(content[:10], "Content-Range: bytes 0-9/1000", status="206 Partial Content")
    async with served(in_turn(wrong)) as server:
        app = references.parse(f"{server.host}/app:v1")
        stream = client.blob(app, described(content), offset=500)
        with pytest.raises(registry.MalformedAnswer, match="from 500"):
            await anext(stream)


def one_then(first: Answering, rest: Answering) -> Answering:
    turns = iter([first])

    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        await next(turns, rest)(request, writer)

    return answering
