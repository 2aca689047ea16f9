"""gRPC calls straight from the service descriptors, without generated stubs.

By our own client: gRPC's own library costs every node 11 MB, and grpclib is slow to load
(docs/adr/0004).
"""

import asyncio
import enum
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar
from urllib.parse import unquote

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from lading.kernel.errors import Malformed
from lading.wire import MESSAGE_BYTES_MAX, http2
from lading.wire.http2 import Http2Connection

CONNECT_SECONDS_MAX = 60.0
"""How long an answer takes is for each caller to limit."""

_PREFIX_BYTES = 5

Response = TypeVar("Response", bound=Message)
Metadata: TypeAlias = Collection[tuple[str, str]]


class StatusCode(enum.Enum):
    """As gRPC numbers them."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_STATUS_BY_NUMBER = {str(status.value): status for status in StatusCode}
# For a peer that is no gRPC server, as gRPC's specification maps them.
_STATUS_BY_HTTP = {
    "400": StatusCode.INTERNAL,
    "401": StatusCode.UNAUTHENTICATED,
    "403": StatusCode.PERMISSION_DENIED,
    "404": StatusCode.UNIMPLEMENTED,
    "429": StatusCode.UNAVAILABLE,
    "502": StatusCode.UNAVAILABLE,
    "503": StatusCode.UNAVAILABLE,
    "504": StatusCode.UNAVAILABLE,
}
_STATUS_BY_RESET = {
    http2.REFUSED_STREAM: StatusCode.UNAVAILABLE,
    http2.CANCEL: StatusCode.CANCELLED,
}


class CallFailed(Exception):
    """The status that a call ended with, the peer's or our own, and its message."""

    def __init__(self, status: StatusCode, message: str) -> None:
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message


class Channel:
    """Connects with its first call, and again after the peer was restarted."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._address = _address(endpoint)
        self._connections: list[Http2Connection] = []
        """The last one takes new calls; one before it may still have calls in flight."""
        self._connecting = asyncio.Lock()
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        for connection in self._connections:
            connection.end("this process closed it")

    async def call(
        self,
        service: ServiceDescriptor,
        method: str,
        request: Message,
        response: type[Response],
        *,
        metadata: Metadata = (),
        timeout_seconds: float | None = None,
    ) -> Response:
        """The response's type is named for the reader and the type checker."""
        headers = _headers(f"/{service.full_name}/{method}", metadata)
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._answer(headers, request)
        except TimeoutError as error:
            message = f"no answer in {timeout_seconds:g} seconds"
            raise CallFailed(StatusCode.DEADLINE_EXCEEDED, message) from error
        _check(answer)
        try:
            return response.FromString(_message(answer.body))
        except DecodeError as error:
            raise CallFailed(StatusCode.INTERNAL, f"the answer cannot be read: {error}") from error

    async def _answer(self, headers: http2.Headers, request: Message) -> http2.Response:
        connection = await self._connected()
        try:
            return await connection.request(headers, _framed(request))
        except http2.ConnectionBroken as error:
            message = f"the connection to {self._endpoint} broke: {error}"
            raise CallFailed(StatusCode.UNAVAILABLE, message) from error
        except http2.ResponseTooLong as error:
            message = f"the answer cannot be read: {error}"
            raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, message) from error
        except http2.StreamReset as error:
            # The peer gave up this call only: Go's servers do so with too long an error.
            status = _STATUS_BY_RESET.get(error.code, StatusCode.INTERNAL)
            raise CallFailed(status, f"the answer was broken off: {error}") from error

    async def _connected(self) -> Http2Connection:
        async with self._connecting:
            if not self._connections or not self._connections[-1].accepts_requests:
                kept = [one for one in self._connections if not one.has_ended]
                self._connections = [*kept, await self._new_connection()]
            if self._is_closed:
                self.close()
            return self._connections[-1]

    async def _new_connection(self) -> Http2Connection:
        loop = asyncio.get_running_loop()
        host, port = self._address
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                if port is None:
                    _, connection = await loop.create_unix_connection(_http2, host)
                else:
                    _, connection = await loop.create_connection(_http2, host, port)
        except (OSError, UnicodeError) as error:  # the latter for what cannot be a host's name
            why = getattr(error, "strerror", "") or str(error) or "it accepts no connection"
            message = f"cannot connect to {self._endpoint}: {why}"
            raise CallFailed(StatusCode.UNAVAILABLE, message) from error
        return connection


@asynccontextmanager
async def channel_to(endpoint: str) -> AsyncIterator[Channel]:
    """A channel to `unix:///path` or `host:port`; it is lazy, so a stopped peer is no error."""
    channel = Channel(endpoint)
    try:
        yield channel
    finally:
        channel.close()


def _address(endpoint: str) -> tuple[str, int | None]:
    """A path without a port, or a host with one."""
    scheme, _, address = endpoint.rpartition("://")
    host, _, port = address.rpartition(":")
    if scheme == "unix" and address:
        return address, None
    if scheme in ("", "tcp") and host and port.isdecimal() and len(port) <= 5 and int(port) < 2**16:
        return host.strip("[]"), int(port)
    raise Malformed(what="endpoint", text=endpoint, reason="expected unix:///path or host:port")


def _http2() -> Http2Connection:
    return Http2Connection(body_bytes_max=_PREFIX_BYTES + MESSAGE_BYTES_MAX)


def _headers(path: str, metadata: Metadata) -> http2.Headers:
    return (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "lading"),
        *metadata,
    )


def _framed(request: Message) -> bytes:
    message = request.SerializeToString()
    return b"\0" + len(message).to_bytes(_PREFIX_BYTES - 1) + message


def _check(answer: http2.Response) -> None:
    headers = answer.headers
    number = headers.get("grpc-status")
    if number is None:
        http_status = headers.get(":status", "")
        status = _STATUS_BY_HTTP.get(http_status, StatusCode.UNKNOWN)
        raise CallFailed(
            status, f"it is no gRPC service: HTTP status {http_status}, no grpc-status"
        )
    status = _STATUS_BY_NUMBER.get(number, StatusCode.UNKNOWN)
    if status is not StatusCode.OK:
        raise CallFailed(status, unquote(headers.get("grpc-message", "")) or status.name)


def _message(body: bytes) -> bytes:
    if not body:
        raise DecodeError("it holds no message")
    if body[0]:
        raise DecodeError("it is compressed")
    message = body[_PREFIX_BYTES:]
    length = int.from_bytes(body[1:_PREFIX_BYTES])
    if len(body) < _PREFIX_BYTES or len(message) != length:
        raise DecodeError(f"it holds {len(message)} bytes instead of {length}")
    return message
