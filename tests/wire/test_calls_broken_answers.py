"""Peers that speak HTTP/2 and answer a call with less than an answer, or stop taking calls."""

import asyncio
import functools
import re
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import grpc
import h2.config
import h2.connection
import h2.events
import hpack
import pytest
from grpclib.const import Status
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hyperframe.frame import ContinuationFrame, HeadersFrame, SettingsFrame

from lading.wire import calls, cri_pb2
from lading.wire.calls import CallFailed, Channel
from tests.wire.calling import version

Answer: TypeAlias = Callable[[H2Connection, int], None]

HEADERS = ((":status", "200"), ("content-type", "application/grpc"))
SUCCESS = (("grpc-status", "0"),)
TURNS_UNTIL_IT_WAITS = 5  # of the event loop; a call takes two


def framed(message: bytes, *, compressed: bool = False) -> bytes:
    return bytes((compressed,)) + len(message).to_bytes(4) + message


MESSAGE = framed(cri_pb2.VersionResponse(runtime_name="peer").SerializeToString())


def answering(body: bytes) -> Answer:
    def answer(connection: H2Connection, call: int) -> None:
        connection.send_headers(call, HEADERS)
        connection.send_data(call, body)
        connection.send_headers(call, SUCCESS, end_stream=True)

    return answer


def refusing(*headers: tuple[str, str]) -> Answer:
    """With headers only, as a server answers that has no message."""
    return lambda connection, call: connection.send_headers(call, headers, end_stream=True)


def resetting(code: ErrorCodes) -> Answer:
    return lambda connection, call: connection.reset_stream(call, code)


def say_nothing(connection: H2Connection, call: int) -> None:
    pass


class Peer:
    """Answers the first call with the given answer, and those after it as it should."""

    def __init__(self, first: Answer, *, calls_max: int = 100) -> None:
        self._answers = [answering(MESSAGE), first]
        self._calls_max = calls_max
        self._connections: list[asyncio.Task[None]] = []
        self.ready: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.append(asyncio.create_task(self._serve(reader, writer)))

    async def end(self) -> None:
        await asyncio.gather(*self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        connection.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: self._calls_max})
        with suppress(ConnectionError):
            while received := await reader.read(65536):
                for event in connection.receive_data(received):
                    self._take(event, connection, writer)
                writer.write(connection.data_to_send())
            writer.close()
            await writer.wait_closed()

    def _take(
        self, event: h2.events.Event, connection: H2Connection, writer: asyncio.StreamWriter
    ) -> None:
        if isinstance(event, h2.events.SettingsAcknowledged):
            self.ready.put_nowait(writer)
        if isinstance(event, h2.events.StreamEnded):
            answer = self._answers.pop() if self._answers[1:] else self._answers[0]
            answer(connection, event.stream_id)


@asynccontextmanager
async def channel_to(peer: Peer, folder: Path) -> AsyncIterator[Channel]:
    path = folder / "peer.sock"
    async with await asyncio.start_unix_server(peer.accept, path):
        async with calls.channel_to(f"unix://{path}") as channel:
            yield channel
        await peer.end()


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ErrorCodes.INTERNAL_ERROR, Status.INTERNAL),
        (ErrorCodes.REFUSED_STREAM, Status.UNAVAILABLE),
        (ErrorCodes.CANCEL, Status.CANCELLED),
    ],
)
async def test_a_call_that_is_broken_off_is_that_calls_trouble_only(
    tmp_path: Path, code: ErrorCodes, status: Status
) -> None:
    async with channel_to(Peer(resetting(code)), tmp_path) as channel:
        with pytest.raises(CallFailed, match="broken off") as caught:
            await version(channel)
        assert await version(channel) == "peer"
    assert caught.value.status is status


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(MESSAGE[:-1], id="cut short"),
        pytest.param(MESSAGE[:3], id="cut short in its prefix"),
        pytest.param(framed(b"\xff\xff"), id="no message"),
        pytest.param(framed(MESSAGE, compressed=True), id="compressed"),
    ],
)
async def test_what_is_no_answer_is_that_calls_trouble_only(tmp_path: Path, body: bytes) -> None:
    async with channel_to(Peer(answering(body)), tmp_path) as channel:
        with pytest.raises(CallFailed, match="cannot be read") as caught:
            await version(channel)
        assert await version(channel) == "peer"
    assert caught.value.status is Status.INTERNAL


async def test_a_compressed_answer_is_named_so(tmp_path: Path) -> None:
    body = framed(MESSAGE[5:], compressed=True)
    async with channel_to(Peer(answering(body)), tmp_path) as channel:
        with pytest.raises(CallFailed, match="Compression not implemented"):
            await version(channel)


async def test_a_call_that_waits_for_its_turn_does_not_outlive_the_connection(
    tmp_path: Path,
) -> None:
    peer = Peer(say_nothing, calls_max=1)
    async with channel_to(peer, tmp_path) as channel:
        first = asyncio.create_task(version(channel))
        writer = await peer.ready.get()
        second = asyncio.create_task(version(channel))
        for _ in range(TURNS_UNTIL_IT_WAITS):
            await asyncio.sleep(0)
        writer.transport.abort()
        for call in (first, second):
            with pytest.raises(CallFailed, match=r"the connection to \S+ broke") as caught:
                await asyncio.wait_for(call, timeout=10)
            assert caught.value.status is Status.UNAVAILABLE


async def test_a_peer_with_a_full_queue_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "peer.sock"
    with socket.socket(socket.AF_UNIX) as peer, socket.socket(socket.AF_UNIX) as earlier:
        peer.bind(str(path))
        peer.listen(0)
        earlier.connect(str(path))
        async with calls.channel_to(f"unix://{path}") as channel:
            with pytest.raises(CallFailed, match=str(path)) as caught:
                await version(channel)
    assert caught.value.status is Status.UNAVAILABLE


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((*HEADERS, ("grpc-status", "5"), ("grpc-message", "no%20%C3%A9")), "NOT_FOUND: no é"),
        *(
            ((*HEADERS, ("grpc-status", str(code.value[0]))), f"{code.name}: {code.name}")
            for code in grpc.StatusCode
            if code is not grpc.StatusCode.OK
        ),
        ((*HEADERS, ("grpc-status", "99")), "UNKNOWN: Invalid grpc-status: '99'"),
        ((*HEADERS, ("grpc-status", "9" * 5000)), "UNKNOWN: Invalid grpc-status"),
        (HEADERS, "UNKNOWN: Missing grpc-status"),
        ([(":status", "404")], "UNIMPLEMENTED: Received :status = '404'"),
        ([(":status", "503")], "UNAVAILABLE: Received :status = '503'"),
        ((*HEADERS, ("x-bin", "=")), "UNKNOWN: Missing grpc-status"),
        ((*HEADERS, ("grpc-status", "5"), ("x-bin", "a")), "INTERNAL: the answer cannot be read"),
    ],
)
async def test_a_refusal_has_a_status_and_a_message(
    tmp_path: Path, headers: tuple[tuple[str, str], ...], expected: str
) -> None:
    async with channel_to(Peer(refusing(*headers)), tmp_path) as channel:
        with pytest.raises(CallFailed, match=re.escape(expected)):
            await version(channel)
        assert await version(channel) == "peer"


async def test_an_error_of_300_kb_arrives_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plainly = functools.partialmethod(hpack.Encoder.encode, huffman=False)
    monkeypatch.setattr(hpack.Encoder, "encode", plainly)  # packing it takes hpack ten seconds
    words = ("no " * 100_000).strip()
    answer = refusing(*HEADERS, ("grpc-status", "2"), ("grpc-message", words))
    async with channel_to(Peer(answer), tmp_path) as channel:
        with pytest.raises(CallFailed) as caught:
            await version(channel)
        assert await version(channel) == "peer"
    assert (caught.value.status, caught.value.message) == (Status.UNKNOWN, words)


async def test_an_answer_without_trailers_is_none(tmp_path: Path) -> None:
    def answer(connection: H2Connection, call: int) -> None:
        connection.send_headers(call, HEADERS)
        connection.send_data(call, MESSAGE, end_stream=True)

    async with channel_to(Peer(answer), tmp_path) as channel:
        with pytest.raises(CallFailed, match="Missing grpc-status"):
            await asyncio.wait_for(version(channel), timeout=5)
        assert await version(channel) == "peer"


async def test_a_peer_that_goes_away_ends_the_call_and_is_connected_again(tmp_path: Path) -> None:
    def go_away(connection: H2Connection, call: int) -> None:
        connection.close_connection(last_stream_id=call)

    async with channel_to(Peer(go_away), tmp_path) as channel:
        with pytest.raises(CallFailed, match="GOAWAY") as caught:
            await version(channel)
        assert await version(channel) == "peer"
    assert caught.value.status is Status.UNAVAILABLE


def endless_continuations() -> Iterator[bytes]:
    yield HeadersFrame(1, b"\x00\x01a\x7f\x80\xff\xff\x07", flags=[]).serialize()
    while True:
        yield ContinuationFrame(1, bytes(16384)).serialize()


def packed_headers() -> Iterator[bytes]:
    """One name of 4,000 bytes, then a million references to it: 4 GB from 1 MB."""
    name = b"\x40\x7f\xa1\x1e" + b"a" * 4000 + b"\x00"
    yield HeadersFrame(1, name, flags=[]).serialize()
    for _ in range(62):
        yield ContinuationFrame(1, b"\xbe" * 16384).serialize()
    yield ContinuationFrame(1, b"\xbe", flags=["END_HEADERS"]).serialize()


def endless_interim_answers() -> Iterator[bytes]:
    block = hpack.Encoder().encode([(":status", "103"), ("link", "x" * 1000)])
    while True:
        yield HeadersFrame(1, block, flags=["END_HEADERS"]).serialize()


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (endless_continuations, "broke"),
        (packed_headers, "broke"),
        (endless_interim_answers, "no answer in 1 seconds"),
    ],
)
async def test_headers_without_an_end_cost_a_call_little(
    tmp_path: Path, frames: Callable[[], Iterator[bytes]], expected: str
) -> None:
    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(SettingsFrame().serialize())
        with suppress(ConnectionError):
            for frame in frames():
                writer.write(frame)
                await writer.drain()
            await reader.read()
        writer.close()

    path = tmp_path / "peer.sock"
    async with (
        await asyncio.start_unix_server(send, path),
        calls.channel_to(f"unix://{path}") as channel,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(CallFailed, match=expected):
                await version(channel, timeout_seconds=1)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 16 * 1024 * 1024
