"""grpclib's connection to a runtime, with bounds on every answer and typed reasons for its end.

grpclib and h2 speak the protocol. This module sets their limits, and hands grpclib's events on
where it would leave a call waiting: docs/contributors/adr/0016.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeAlias

import grpclib.client
from grpclib.client import Handler
from grpclib.config import Configuration
from grpclib.exceptions import StreamTerminatedError
from grpclib.protocol import AbstractHandler, Connection, EventsProcessor, H2Protocol, Stream
from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, StreamEnded, StreamReset
from h2.settings import SettingCodes

from lading.wire import MESSAGE_BYTES_MAX

HEADERS_BYTES_MAX = 1024 * 1024
"""Of an answer, unpacked. An error of a runtime is a header, and containerd's may be long."""

CONNECT_SECONDS_MAX = 60.0

_PREFIX_BYTES = 5  # before a message of gRPC
_SETTINGS_TYPE = b"\x04"  # of the first frame that a server sends

OnLost: TypeAlias = Callable[[str], None]


class AnswerReset(StreamTerminatedError):
    """The peer gave up one call; the connection remains."""

    def __init__(self, code: ErrorCodes | int | None) -> None:
        self.code = code if isinstance(code, ErrorCodes) else None
        super().__init__(self.code.name if self.code else f"HTTP/2 error {code}")


class AnswerTooLong(StreamTerminatedError):
    pass


class CannotConnect(Exception):
    pass


class RuntimeConnection(grpclib.client.Channel):
    """Connects when needed, and again after a lost connection."""

    def __init__(self, *, address: tuple[str, int | None], on_lost: OnLost) -> None:
        host, port = address
        if port is None:
            super().__init__(path=host)
        else:
            super().__init__(host, port)
        self._authority = "localhost"  # a path is none, and servers in Go check it
        self._on_lost = on_lost
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        super().close()

    def _protocol_factory(self) -> H2Protocol:
        return _Protocol(self._config, self._h2_config)

    async def _create_connection(self) -> H2Protocol:
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                protocol = await super()._create_connection()
                assert isinstance(protocol, _Protocol), "the factory makes these"
        except (OSError, UnicodeError) as error:  # the latter for what cannot be a host's name
            why = getattr(error, "strerror", "") or str(error) or "it accepts no connection"
            raise CannotConnect(why) from error
        if self._is_closed:  # meanwhile: nothing would close it later
            protocol.processor.close()
            raise StreamTerminatedError("Connection closed")
        if protocol.connection.is_closing():
            raise CannotConnect("the peer closed the connection at once")
        # Only now: one that a cancelled call was opening carries no calls, and must end none.
        protocol.processor.on_lost = self._on_lost
        return protocol


class _Protocol(H2Protocol):
    processor: "_Processor"

    def __init__(self, config: Configuration, h2_config: H2Configuration) -> None:
        super().__init__(Handler(), config, h2_config)
        self._has_received = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.processor = _Processor(self.handler, self.connection)
        limits: dict[SettingCodes | int, int] = {
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADERS_BYTES_MAX,
        }
        self.connection._connection.update_settings(limits)  # noqa: SLF001 - grpclib has no option
        self.connection.flush()

    def data_received(self, data: bytes) -> None:
        """h2 would read an answer of HTTP/1 as the start of a long frame, and wait for the rest."""
        begins_with_settings = data[3:4] in (b"", _SETTINGS_TYPE)
        if not self._has_received and not begins_with_settings:
            self.processor.close("the peer does not speak HTTP/2")
            return
        self._has_received = True
        try:
            super().data_received(data)
        except UnicodeDecodeError:
            self.processor.close("it sent a header that is not ASCII")


class _Processor(EventsProcessor):
    def __init__(self, handler: AbstractHandler, connection: Connection) -> None:
        super().__init__(handler, connection)
        self.on_lost: OnLost | None = None

    def close(self, reason: str = "Connection closed") -> None:
        """Calls that wait for their turn have no stream yet, so grpclib does not end them."""
        super().close(reason)
        if self.on_lost is not None:
            on_lost, self.on_lost = self.on_lost, None
            on_lost(reason)

    def process(self, event: Event) -> None:
        """HTTP/2 has frames that change nothing here, and a peer may send more of them."""
        with contextlib.suppress(NotImplementedError):
            super().process(event)

    def process_data_received(self, event: DataReceived) -> None:
        super().process_data_received(event)
        stream = self._stream(event.stream_id)
        if stream is not None and stream.data_received > _PREFIX_BYTES + MESSAGE_BYTES_MAX:
            _end(stream, AnswerTooLong(f"it is longer than {MESSAGE_BYTES_MAX} bytes"))

    def process_stream_ended(self, event: StreamEnded) -> None:
        """A peer may end an answer without trailers; grpclib would wait for them."""
        super().process_stream_ended(event)
        stream = self._stream(event.stream_id)
        if stream is not None and stream.trailers is None:
            stream.trailers = []
            stream.trailers_received.set()

    def process_stream_reset(self, event: StreamReset) -> None:
        super().process_stream_reset(event)
        stream = self._stream(event.stream_id)
        if stream is not None and event.remote_reset:
            _end(stream, AnswerReset(event.error_code))

    def _stream(self, stream_id: int | None) -> Stream | None:
        return None if stream_id is None else self.streams.get(stream_id)


def _end(stream: Stream, error: StreamTerminatedError) -> None:
    assert stream.wrapper is not None, "every call of ours has one"
    stream.wrapper.cancel(error)
