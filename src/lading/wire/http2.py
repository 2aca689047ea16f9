"""HTTP/2 as a gRPC client needs it: whole requests and whole responses, many at a time.

hpack and hyperframe know the format. h2, which is built on them, takes a command longer to load
than its calls take (docs/adr/0004).
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

HEADERS_BYTES_MAX = 1024 * 1024
"""Of a response: an error of a runtime is a header, and may be long."""

REFUSED_STREAM = 7
CANCEL = 8
_CODES = (
    *("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT"),
    *("STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR"),
    *("CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"),
)

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER_BYTES = 9
_FRAME_BYTES_MAX = 16384  # the least that every peer accepts
_HEADER_TABLE_BYTES_MAX = 4096
_ENDING = "it takes no more requests"
_STREAM_ID_MAX = 2**31 - 1
_STREAMS_MAX = 2**31 - 1  # of a peer without a limit
_WINDOW_BYTES = 65535  # until the receiver sends another size
_WINDOW_BYTES_MAX = 2**31 - 1

Headers: TypeAlias = Iterable[tuple[str, str]]


class ConnectionBroken(Exception):
    """Takes every request with it that is in flight."""


class RequestFailed(Exception):
    """This request only; the connection remains."""


class StreamReset(RequestFailed):
    def __init__(self, code: int) -> None:
        super().__init__(_code(code))
        self.code = code


class ResponseTooLong(RequestFailed):
    pass


class Response(msgspec.Struct, frozen=True, kw_only=True):
    headers: Mapping[str, str]
    """The trailers are among them."""
    body: bytes


class _Stream(msgspec.Struct, kw_only=True, eq=False):
    id: int
    outcome: asyncio.Future[Response | Exception]
    """An error is a result, too: after a cancellation nothing would retrieve an exception."""
    window_bytes: int
    """The part of the request that the peer accepts now."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: bytearray = msgspec.field(default_factory=bytearray)
    is_sent: bool = False
    is_received: bool = False

    def end(self, outcome: Response | Exception) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class Http2Connection(asyncio.Protocol):
    """It ends when the peer asks for that, after the requests that are in flight."""

    def __init__(self, *, body_bytes_max: int) -> None:
        self._body_bytes_max = body_bytes_max
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._encoder = Encoder()
        self._decoder = Decoder(max_header_list_size=HEADERS_BYTES_MAX)
        self._header_block: HeadersFrame | None = None  # the next frames continue it
        self._header_data = bytearray()
        self._streams: dict[int, _Stream] = {}
        self._next_id = 1
        self._streams_max = 0  # until the peer sends its settings
        self._has_settings = False
        self._window_bytes = _WINDOW_BYTES
        self._stream_window_bytes = _WINDOW_BYTES
        self._consumed_bytes = 0
        self._is_ending = False
        self._broken: str | None = None  # why
        self._changed = asyncio.Event()

    @property
    def accepts_requests(self) -> bool:
        return self._broken is None and not self._is_ending

    @property
    def has_ended(self) -> bool:
        return self._broken is not None

    async def request(self, headers: Headers, body: bytes) -> Response:
        """The body is not empty: a message of gRPC has a prefix."""
        while len(self._streams) >= self._streams_max and self.accepts_requests:
            await self._changed.wait()
        stream = self._open(headers)
        try:
            await self._send_body(stream, body)
            outcome = await stream.outcome
        finally:
            self._close(stream)
        if isinstance(outcome, Response):
            return outcome
        raise outcome

    def end(self, why: str) -> None:
        if self._broken is not None:
            return
        self._broken = why
        for stream in self._streams.values():
            stream.end(ConnectionBroken(why))
        self._notify()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(_PREFACE)
        settings = {
            SettingsFrame.ENABLE_PUSH: 0,
            SettingsFrame.INITIAL_WINDOW_SIZE: _WINDOW_BYTES_MAX,
            SettingsFrame.MAX_HEADER_LIST_SIZE: HEADERS_BYTES_MAX,
        }
        self._send(SettingsFrame(settings=settings))
        self._send(WindowUpdateFrame(0, window_increment=_WINDOW_BYTES_MAX - _WINDOW_BYTES))

    def data_received(self, data: bytes) -> None:
        self._received += data
        try:
            for frame in _frames(self._received):
                self._take(frame)
        except (ConnectionBroken, HyperframeError, HPACKError) as error:
            why = str(error) or type(error).__name__
            self.end(why if self._has_settings else f"the peer does not speak HTTP/2: {why}")
        self._notify()

    def eof_received(self) -> None:
        self.end("the peer closed it")

    def connection_lost(self, exc: Exception | None) -> None:
        self.end("the peer closed it" if exc is None else str(exc) or type(exc).__name__)

    def _open(self, headers: Headers) -> _Stream:
        if not self.accepts_requests:
            raise ConnectionBroken(self._broken or _ENDING)
        block = self._encoder.encode(headers)
        stream = _Stream(
            id=self._next_id,
            outcome=asyncio.get_running_loop().create_future(),
            window_bytes=self._stream_window_bytes,
        )
        self._streams[stream.id] = stream
        self._next_id += 2
        self._is_ending = self._next_id > _STREAM_ID_MAX
        self._send(HeadersFrame(stream.id, block, flags=["END_HEADERS"]))
        return stream

    async def _send_body(self, stream: _Stream, body: bytes) -> None:
        """A peer may answer before it has read all of it."""
        while body and not stream.outcome.done():
            size = min(len(body), stream.window_bytes, self._window_bytes, _FRAME_BYTES_MAX)
            if size <= 0:
                await self._changed.wait()
                continue
            stream.window_bytes -= size
            self._window_bytes -= size
            piece, body = body[:size], body[size:]
            self._send(DataFrame(stream.id, piece, flags=[] if body else ["END_STREAM"]))
        if not body:
            stream.is_sent = True

    def _close(self, stream: _Stream) -> None:
        """The peer stops its work for a request that was cancelled."""
        del self._streams[stream.id]
        if not (stream.is_sent and stream.is_received):
            self._send(RstStreamFrame(stream.id, error_code=CANCEL))
        self._notify()

    def _notify(self) -> None:
        """Requests that wait look again at what they wait for."""
        self._changed.set()
        self._changed = asyncio.Event()
        if self._is_ending and not self._streams:
            self.end(_ENDING)

    def _send(self, frame: Frame) -> None:
        if self._transport is not None and self._broken is None:
            self._transport.write(frame.serialize())

    def _take(self, frame: Frame) -> None:
        if self._header_block is not None and not isinstance(frame, ContinuationFrame):
            raise ConnectionBroken("headers break off")
        if not self._has_settings and not isinstance(frame, SettingsFrame):
            raise ConnectionBroken(f"it begins with a frame of type {frame.type}")
        match frame:
            case DataFrame():
                self._take_data(frame)
            case HeadersFrame():
                self._header_block = frame
                self._header_data = bytearray(frame.data)
                self._take_headers(frame, is_last="END_HEADERS" in frame.flags)
            case ContinuationFrame():
                block = self._header_block
                if block is None or block.stream_id != frame.stream_id:
                    raise ConnectionBroken("it continues no headers")
                self._header_data += frame.data
                self._take_headers(block, is_last="END_HEADERS" in frame.flags)
            case RstStreamFrame():
                self._reset(frame.stream_id, frame.error_code)
            case SettingsFrame() if "ACK" not in frame.flags:
                self._take_settings(frame.settings)
                self._send(SettingsFrame(flags=["ACK"]))
            case PingFrame() if "ACK" not in frame.flags:
                self._send(PingFrame(opaque_data=frame.opaque_data, flags=["ACK"]))
            case GoAwayFrame():
                self._take_goaway(frame)
            case WindowUpdateFrame():
                self._take_window(frame)
            case PushPromiseFrame():
                raise ConnectionBroken("it pushes a response")

    def _take_data(self, frame: DataFrame) -> None:
        self._consumed_bytes += frame.flow_controlled_length
        if self._consumed_bytes > _WINDOW_BYTES_MAX // 2:
            self._send(WindowUpdateFrame(0, window_increment=self._consumed_bytes))
            self._consumed_bytes = 0
        stream = self._streams.get(frame.stream_id)
        if stream is None or stream.outcome.done():  # it was cancelled, or refused
            return
        stream.body += frame.data
        if len(stream.body) > self._body_bytes_max:
            stream.end(ResponseTooLong(f"it is longer than {self._body_bytes_max} bytes"))
        if "END_STREAM" in frame.flags:
            _end_with_response(stream)

    def _take_headers(self, frame: HeadersFrame, *, is_last: bool) -> None:
        """Those of a request that was cancelled change the table of the decoder, too."""
        if len(self._header_data) > HEADERS_BYTES_MAX:
            raise ConnectionBroken(f"headers of more than {HEADERS_BYTES_MAX} bytes")
        if not is_last:
            return
        self._header_block = None
        headers = self._decoder.decode(bytes(self._header_data), raw=True)
        stream = self._streams.get(frame.stream_id)
        if stream is None:
            return
        stream.headers.update((_text(name), _text(value)) for name, value in headers)
        if "END_STREAM" in frame.flags:
            _end_with_response(stream)

    def _reset(self, stream_id: int, code: int) -> None:
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.is_sent = stream.is_received = True
            stream.end(StreamReset(code))

    def _take_settings(self, settings: Mapping[int, int]) -> None:
        if not self._has_settings:
            self._has_settings = True
            self._streams_max = _STREAMS_MAX
        for setting, value in settings.items():
            if setting == SettingsFrame.HEADER_TABLE_SIZE:
                self._encoder.header_table_size = min(value, _HEADER_TABLE_BYTES_MAX)
            elif setting == SettingsFrame.MAX_CONCURRENT_STREAMS:
                self._streams_max = value
            elif setting == SettingsFrame.INITIAL_WINDOW_SIZE:
                for stream in self._streams.values():
                    stream.window_bytes = _window(
                        stream.window_bytes, value - self._stream_window_bytes
                    )
                self._stream_window_bytes = _window(0, value)

    def _take_window(self, frame: WindowUpdateFrame) -> None:
        stream = self._streams.get(frame.stream_id)
        if frame.stream_id == 0:
            self._window_bytes = _window(self._window_bytes, frame.window_increment)
        elif stream is not None:
            stream.window_bytes = _window(stream.window_bytes, frame.window_increment)

    def _take_goaway(self, frame: GoAwayFrame) -> None:
        """Requests that the peer has accepted are answered; the others it has not looked at."""
        if frame.error_code:
            why = _text(frame.additional_data)
            raise ConnectionBroken(f"{_code(frame.error_code)} {why}".rstrip())
        self._is_ending = True
        for stream_id in self._streams:
            if stream_id > frame.last_stream_id:
                self._reset(stream_id, REFUSED_STREAM)


def _frames(received: bytearray) -> Iterator[Frame]:
    """The whole frames; they are taken away from what was received."""
    while len(received) >= _FRAME_HEADER_BYTES:
        frame, length = Frame.parse_frame_header(memoryview(bytes(received[:_FRAME_HEADER_BYTES])))
        if length > _FRAME_BYTES_MAX:
            raise ConnectionBroken(f"a frame of {length} bytes")
        end = _FRAME_HEADER_BYTES + length
        if len(received) < end:
            return
        frame.parse_body(memoryview(bytes(received[_FRAME_HEADER_BYTES:end])))
        del received[:end]
        yield frame


def _end_with_response(stream: _Stream) -> None:
    stream.is_received = True
    stream.end(Response(headers=stream.headers, body=bytes(stream.body)))


def _window(size: int, change: int) -> int:
    if size + change > _WINDOW_BYTES_MAX:
        raise ConnectionBroken(f"a window of {size + change} bytes")
    return size + change


def _code(number: int) -> str:
    return _CODES[number] if number < len(_CODES) else f"HTTP/2 error {number}"


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
