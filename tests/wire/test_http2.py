"""A connection and a peer that is played frame by frame."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import pytest
from hpack import Decoder, Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    ExtensionFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from hypothesis import given
from hypothesis import strategies as st

from lading.wire import http2
from lading.wire.http2 import ConnectionBroken, Http2Connection, Response, StreamReset

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
REQUEST = ((":method", "POST"), (":path", "/a/B"))
HEADERS = ((":status", "200"), ("content-type", "application/grpc"))
TRAILERS = (("grpc-status", "0"),)
BODY_BYTES_MAX = 100_000
QUIET_SECONDS = 0.05
WINDOW = 65535

SomeFrame = TypeVar("SomeFrame", bound=Frame)


class Peer:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.encoder = Encoder()
        self.decoder = Decoder()
        self.seen: list[object] = []

    async def accept(self) -> tuple[SettingsFrame, WindowUpdateFrame]:
        assert await self._reader.readexactly(len(PREFACE)) == PREFACE
        return await self.frame(SettingsFrame), await self.frame(WindowUpdateFrame)

    async def set(self, settings: dict[int, int]) -> None:
        self.send(SettingsFrame(settings=settings))
        assert "ACK" in (await self.frame(SettingsFrame)).flags

    async def frame(self, kind: type[SomeFrame]) -> SomeFrame:
        frame, length = Frame.parse_frame_header(memoryview(await self._reader.readexactly(9)))
        frame.parse_body(memoryview(await self._reader.readexactly(length)))
        if isinstance(frame, HeadersFrame):
            self.seen = [*self.decoder.decode(frame.data)]
        assert isinstance(frame, kind), frame
        return frame

    async def request(self) -> tuple[int, list[object], bytes]:
        """Its stream, headers and body."""
        headers = await self.frame(HeadersFrame)
        return headers.stream_id, self.seen, await self.body()

    async def body(self) -> bytes:
        body = b""
        while True:
            data = await self.frame(DataFrame)
            body += data.data
            if "END_STREAM" in data.flags:
                return body

    async def is_quiet(self) -> bool:
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self._reader.readexactly(1)
        except TimeoutError:
            return True
        return False

    async def sees_the_end(self) -> bool:
        return await self._reader.read() == b""

    def send(self, *frames: Frame) -> None:
        self._writer.write(b"".join(frame.serialize() for frame in frames))

    def send_bytes(self, text: bytes) -> None:
        self._writer.write(text)

    def headers(self, stream: int, *, ends: bool = False) -> HeadersFrame:
        flags = ["END_HEADERS", *(["END_STREAM"] if ends else [])]
        return HeadersFrame(stream, self.encoder.encode(TRAILERS if ends else HEADERS), flags=flags)

    def answer(self, stream: int, body: bytes = b"answer") -> None:
        self.send_part(stream, body)
        self.send(self.headers(stream, ends=True))

    def send_part(self, stream: int, body: bytes) -> None:
        pieces = [body[start : start + 16384] for start in range(0, len(body), 16384)]
        self.send(self.headers(stream), *(DataFrame(stream, piece) for piece in pieces))

    def stop_reading(self) -> None:
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    def send_eof(self) -> None:
        self._writer.write_eof()

    def hang_up(self) -> None:
        self._writer.close()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Http2Connection, Peer]]:
    ours, theirs = socket.socketpair()
    _, connection = await asyncio.get_running_loop().create_unix_connection(
        lambda: Http2Connection(body_bytes_max=BODY_BYTES_MAX), sock=ours
    )
    peer = Peer(*await asyncio.open_unix_connection(sock=theirs))
    try:
        yield connection, peer
    finally:
        connection.end("the test is over")
        peer.hang_up()


@asynccontextmanager
async def asked(
    body: bytes = b"question", *, streams_max: int = 100
) -> AsyncIterator[tuple[Http2Connection, Peer, asyncio.Task[Response]]]:
    """The request is sent, but not yet read by the peer."""
    async with connected() as (connection, peer), asyncio.timeout(20):
        asking = asyncio.create_task(connection.request(REQUEST, body))
        try:
            await peer.accept()
            await peer.set({SettingsFrame.MAX_CONCURRENT_STREAMS: streams_max})
            yield connection, peer, asking
        finally:
            asking.cancel()


async def test_a_connection_begins_with_its_preface_and_pushes_nothing() -> None:
    async with connected() as (_, peer):
        settings, window = await peer.accept()
    assert settings.settings[SettingsFrame.ENABLE_PUSH] == 0
    assert WINDOW + window.window_increment == settings.settings[SettingsFrame.INITIAL_WINDOW_SIZE]


async def test_a_request_waits_for_the_settings_of_the_peer() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request(REQUEST, b"question"))
        await peer.accept()
        assert await peer.is_quiet()
        await peer.set({})
        assert await peer.request() == (1, list(REQUEST), b"question")
        peer.answer(1)
        await asking


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0\0\0\xff\0\0\0\0\0",
        PingFrame(opaque_data=b"12345678").serialize(),
    ],
)
async def test_a_peer_that_speaks_something_else_is_named_so(text: bytes) -> None:
    async with connected() as (connection, peer):
        peer.send_bytes(text)
        with pytest.raises(ConnectionBroken, match=r"the peer does not speak HTTP/2: .+"):
            await connection.request(REQUEST, b"question")


async def test_a_peer_may_accept_no_requests_for_a_while() -> None:
    async with asked(streams_max=0) as (_, peer, asking):
        await peer.set({})
        assert await peer.is_quiet()
        await peer.set({SettingsFrame.MAX_CONCURRENT_STREAMS: 1})
        await peer.request()
        peer.answer(1)
        await asking


async def test_a_request_is_answered_with_headers_body_and_trailers() -> None:
    async with asked() as (_, peer, asking):
        assert await peer.request() == (1, list(REQUEST), b"question")
        peer.answer(1)
        response = await asking
        assert response.headers == dict((*HEADERS, *TRAILERS))
        assert response.body == b"answer"
        assert await peer.is_quiet()


async def test_an_answer_may_arrive_byte_by_byte() -> None:
    async with asked() as (_, peer, asking):
        frames = (
            peer.headers(1),
            DataFrame(1, b"an"),
            DataFrame(1, b"swer", pad_length=7, flags=["PADDED"]),
            DataFrame(1, b"", flags=["END_STREAM"]),
        )
        for byte in b"".join(frame.serialize() for frame in frames):
            peer.send_bytes(bytes([byte]))
            await asyncio.sleep(0)
        assert (await asking).body == b"answer"


async def test_headers_may_be_continued() -> None:
    async with asked() as (_, peer, asking):
        block = peer.encoder.encode((*HEADERS, *TRAILERS))
        peer.send(
            HeadersFrame(1, block[:1], flags=["END_STREAM"]),
            ContinuationFrame(1, block[1:3]),
            ContinuationFrame(1, block[3:], flags=["END_HEADERS"]),
        )
        assert (await asking).headers == dict((*HEADERS, *TRAILERS))


async def test_a_header_that_is_no_utf_8_is_replaced() -> None:
    async with asked() as (_, peer, asking):
        block = peer.encoder.encode([(b"grpc-message", b"\xff!")])
        peer.send(HeadersFrame(1, block, flags=["END_HEADERS", "END_STREAM"]))
        assert (await asking).headers == {"grpc-message": "\N{REPLACEMENT CHARACTER}!"}


async def test_requests_are_answered_in_any_order() -> None:
    async with asked() as (connection, peer, first):
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        assert (await peer.request())[0] == 1
        assert (await peer.request())[0] == 3
        peer.answer(3, b"to the second")
        assert (await second).body == b"to the second"
        peer.answer(1, b"to the first")
        assert (await first).body == b"to the first"


async def test_a_long_request_waits_for_both_windows() -> None:
    body = bytes(range(256)) * 512
    async with asked(body) as (_, peer, asking):
        assert (await peer.frame(HeadersFrame)).stream_id == 1
        sent = b""
        while len(sent) < WINDOW:
            frame = await peer.frame(DataFrame)
            assert len(frame.data) <= 16384
            sent += frame.data
        assert len(sent) == WINDOW
        peer.send(WindowUpdateFrame(1, window_increment=len(body)))
        assert await peer.is_quiet()
        peer.send(WindowUpdateFrame(0, window_increment=1))
        sent += (await peer.frame(DataFrame)).data
        assert len(sent) == WINDOW + 1
        peer.send(WindowUpdateFrame(0, window_increment=len(body)))
        assert sent + await peer.body() == body
        peer.answer(1)
        assert (await asking).body == b"answer"


async def test_a_peer_may_change_the_windows_of_requests_that_are_open() -> None:
    async with asked(b"x" * WINDOW + b"yz") as (connection, peer, asking):
        await peer.frame(HeadersFrame)
        for _ in range(4):
            await peer.frame(DataFrame)
        peer.send(WindowUpdateFrame(0, window_increment=100))
        await peer.set({SettingsFrame.INITIAL_WINDOW_SIZE: WINDOW + 1})
        assert (await peer.frame(DataFrame)).data == b"y"
        await peer.set({SettingsFrame.INITIAL_WINDOW_SIZE: 2})
        other = asyncio.create_task(connection.request(REQUEST, b"abc"))
        await peer.frame(HeadersFrame)
        assert (await peer.frame(DataFrame)).data == b"ab"
        peer.send(WindowUpdateFrame(3, window_increment=1))
        assert await peer.body() == b"c"
        peer.answer(3)
        await other
        peer.send(WindowUpdateFrame(1, window_increment=WINDOW))
        assert await peer.body() == b"z"
        peer.answer(1)
        await asking


async def test_an_answer_ends_a_request_that_is_not_sent() -> None:
    async with asked(b"x" * (WINDOW + 1)) as (connection, peer, asking):
        await peer.frame(HeadersFrame)
        for _ in range(4):
            await peer.frame(DataFrame)
        peer.answer(1)
        assert (await asking).body == b"answer"
        assert (await peer.frame(RstStreamFrame)).error_code == http2.CANCEL
        peer.send(WindowUpdateFrame(0, window_increment=WINDOW))
        next_one = asyncio.create_task(connection.request(REQUEST, b"next"))
        assert await peer.request() == (3, list(REQUEST), b"next")
        peer.answer(3)
        await next_one


async def test_no_more_requests_are_open_than_the_peer_allows() -> None:
    async with asked(streams_max=1) as (connection, peer, first):
        await peer.request()
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        assert await peer.is_quiet()
        peer.answer(1)
        await first
        assert await peer.request() == (3, list(REQUEST), b"second")
        peer.answer(3)
        await second


async def test_a_cancelled_request_is_cancelled_at_the_peer() -> None:
    async with asked() as (connection, peer, asking):
        await peer.request()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        reset = await peer.frame(RstStreamFrame)
        assert (reset.stream_id, reset.error_code) == (1, 8)  # CANCEL
        # What the peer sent meanwhile is no answer to another, but part of its table of headers.
        peer.answer(1)
        other = asyncio.create_task(connection.request(REQUEST, b"other"))
        await peer.request()
        peer.answer(3, b"to the other")
        assert await other == Response(headers=dict((*HEADERS, *TRAILERS)), body=b"to the other")


async def test_a_cancelled_request_that_waits_for_its_turn_is_never_sent() -> None:
    async with asked(streams_max=1) as (connection, peer, first):
        await peer.request()
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        assert await peer.is_quiet()
        second.cancel()
        peer.answer(1)
        await first
        assert await peer.is_quiet()


async def test_a_reset_fails_its_request_only() -> None:
    async with asked() as (connection, peer, first):
        await peer.request()
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        await peer.request()
        peer.send(RstStreamFrame(1, error_code=2))
        with pytest.raises(StreamReset, match="INTERNAL_ERROR"):
            await first
        peer.send(RstStreamFrame(3, error_code=99))
        with pytest.raises(StreamReset, match="HTTP/2 error 99"):
            await second
        assert await peer.is_quiet()
        assert connection.accepts_requests


async def test_a_reset_behind_an_answer_changes_nothing() -> None:
    async with asked() as (connection, peer, asking):
        await peer.request()
        peer.send(peer.headers(1), peer.headers(1, ends=True), RstStreamFrame(1))
        assert (await asking).headers == dict((*HEADERS, *TRAILERS))
        assert connection.accepts_requests


async def test_a_response_that_is_too_long_fails_its_request_only() -> None:
    async with asked() as (connection, peer, first):
        await peer.request()
        peer.send_part(1, bytes(BODY_BYTES_MAX + 1))
        with pytest.raises(http2.ResponseTooLong, match="longer than 100000 bytes"):
            await first
        assert (await peer.frame(RstStreamFrame)).error_code == http2.CANCEL
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        await peer.request()
        peer.answer(3, bytes(BODY_BYTES_MAX))
        assert len((await second).body) == BODY_BYTES_MAX


async def test_the_window_of_the_connection_is_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http2, "_WINDOW_BYTES_MAX", 2 * WINDOW)
    async with asked() as (_, peer, asking):
        await peer.request()
        peer.answer(1, bytes(WINDOW))
        await asking
        assert await peer.is_quiet()
        peer.send(DataFrame(1, b"", pad_length=0, flags=["PADDED"]))
        assert (await peer.frame(WindowUpdateFrame)).window_increment == WINDOW + 1
        peer.send(DataFrame(1, bytes(100)))
        assert await peer.is_quiet()


async def test_a_ping_is_answered_and_an_answer_is_not() -> None:
    async with connected() as (_, peer):
        await peer.accept()
        await peer.set({})
        peer.send(PingFrame(opaque_data=b"12345678", flags=["ACK"]))
        peer.send(SettingsFrame(flags=["ACK"]))
        peer.send(PingFrame(opaque_data=b"12345678"))
        pong = await peer.frame(PingFrame)
        assert (pong.opaque_data, list(pong.flags)) == (b"12345678", ["ACK"])


async def test_frames_that_nothing_depends_on_are_ignored() -> None:
    async with asked() as (_, peer, asking):
        peer.send(
            ExtensionFrame(0xF0, 1),
            PriorityFrame(1, depends_on=3),
            DataFrame(99, b"for no request", flags=["END_STREAM"]),
            RstStreamFrame(99),
            WindowUpdateFrame(99, window_increment=1),
        )
        peer.answer(1)
        assert (await asking).body == b"answer"


async def test_a_peer_may_forbid_the_table_of_headers() -> None:
    async with asked() as (connection, peer, first):
        await peer.request()
        await peer.set({SettingsFrame.HEADER_TABLE_SIZE: 0})
        peer.answer(1)
        await first
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        peer.decoder = Decoder()
        peer.decoder.max_allowed_table_size = 0
        assert await peer.request() == (3, list(REQUEST), b"second")
        peer.answer(3)
        await second


async def test_a_peer_that_closes_answers_what_it_has_accepted() -> None:
    async with asked() as (connection, peer, first):
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        await peer.request()
        await peer.request()
        peer.send(GoAwayFrame(last_stream_id=1))
        with pytest.raises(StreamReset, match="REFUSED_STREAM"):
            await second
        assert not connection.accepts_requests
        with pytest.raises(ConnectionBroken, match="it takes no more requests"):
            await connection.request(REQUEST, b"third")
        peer.answer(1)
        assert (await first).body == b"answer"
        assert await peer.sees_the_end()


async def test_a_connection_ends_after_the_last_of_its_stream_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http2, "_STREAM_ID_MAX", 3)
    async with asked() as (connection, peer, first):
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        for _ in range(2):
            await peer.request()
        assert not connection.accepts_requests
        peer.answer(1)
        await first
        peer.answer(3)
        await second
        assert await peer.sees_the_end()


async def test_a_peer_that_stops_reading_and_closes_ends_the_request() -> None:
    """What is not yet written cannot be written any more."""
    async with asked(bytes(8_000_000)) as (connection, peer, asking):
        peer.stop_reading()
        peer.send(
            WindowUpdateFrame(0, window_increment=2**30),
            WindowUpdateFrame(1, window_increment=2**30),
        )
        await asyncio.sleep(QUIET_SECONDS)
        peer.send_eof()
        with pytest.raises(ConnectionBroken, match="the peer closed it"):
            await asking
        assert not connection.accepts_requests


async def test_a_request_that_cannot_be_encoded_leaves_nothing_open() -> None:
    async with asked(streams_max=2) as (connection, peer, first):
        await peer.request()
        with pytest.raises(UnicodeEncodeError):
            await connection.request((("x", "\ud800"),), b"second")
        third = asyncio.create_task(connection.request(REQUEST, b"third"))
        assert (await peer.request())[2] == b"third"
        peer.answer(1)
        peer.answer(3)
        await asyncio.gather(first, third)


async def test_an_error_without_a_message_breaks_the_connection_too() -> None:
    async with asked() as (connection, peer, asking):
        await peer.request()
        connection.connection_lost(ConnectionResetError())
        with pytest.raises(ConnectionBroken, match="ConnectionResetError"):
            await asking


async def test_a_request_that_waits_for_its_turn_does_not_outlive_the_connection() -> None:
    async with asked(streams_max=1) as (connection, peer, first):
        await peer.request()
        second = asyncio.create_task(connection.request(REQUEST, b"second"))
        assert await peer.is_quiet()
        peer.hang_up()
        for asking in (first, second):
            with pytest.raises(ConnectionBroken, match="the peer closed it"):
                await asking


def overlong_headers(_: Peer) -> list[Frame]:
    piece = Encoder().encode([("x", "a" * 12_000)], huffman=False)
    pieces = http2.HEADERS_BYTES_MAX // len(piece) + 1
    return [HeadersFrame(1, piece), *(ContinuationFrame(1, piece) for _ in range(pieces))]


def inflating_headers(peer: Peer) -> list[Frame]:
    """Each is one byte, and names 4 kB of the table."""
    block = peer.encoder.encode([("x", "a" * 4000)]) + b"\xbe" * 1000
    return [HeadersFrame(1, block, flags=["END_HEADERS"])]


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        (lambda _: [GoAwayFrame(error_code=11, additional_data=b"calm")], "ENHANCE_YOUR_CALM calm"),
        (lambda _: [ContinuationFrame(1, b"")], "it continues no headers"),
        (lambda _: [HeadersFrame(1, b""), ContinuationFrame(3, b"")], "it continues no headers"),
        (lambda _: [HeadersFrame(1, b""), PingFrame(opaque_data=b"12345678")], "break off"),
        (lambda _: [HeadersFrame(1, b"\xfe", flags=["END_HEADERS"])], "table index"),
        (lambda _: [PushPromiseFrame(1, 2, flags=["END_HEADERS"])], "it pushes a response"),
        (lambda _: [WindowUpdateFrame(0, window_increment=2**31 - 1)], "a window of"),
        (lambda _: [WindowUpdateFrame(1, window_increment=2**31 - 1)], "a window of"),
        (
            lambda _: [SettingsFrame(settings={SettingsFrame.INITIAL_WINDOW_SIZE: 2**31})],
            "a window of",
        ),
        (lambda _: [WindowUpdateFrame(0, window_increment=0)], "increment"),
        (lambda _: [DataFrame(1, b"x" * 16385)], "a frame of 16385 bytes"),
        (overlong_headers, "headers of more than"),
        (inflating_headers, "header list larger"),
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_left(
    frames: Callable[[Peer], list[Frame]], why: str
) -> None:
    async with asked() as (connection, peer, asking):
        await peer.request()
        peer.send(*frames(peer))
        with pytest.raises(ConnectionBroken, match=why):
            await asking
        assert not connection.accepts_requests


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(
                lambda kind, flags, stream, body: (
                    len(body).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + body
                ),
                st.integers(0, 11),
                st.integers(0, 255),
                st.sampled_from((0, 1, 2, 3, 2**31)),
                st.binary(max_size=40),
            ),
        ),
        max_size=12,
    )
)
def test_no_bytes_of_a_peer_raise_anything_else(chunks: list[bytes]) -> None:
    async def asking() -> None:
        async with asked() as (connection, _, waiting):
            for chunk in chunks:
                connection.data_received(chunk)
            connection.connection_lost(None)
            with suppress(ConnectionBroken, http2.RequestFailed):
                assert isinstance(await waiting, Response)

    asyncio.run(asking())
