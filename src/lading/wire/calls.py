"""gRPC calls straight from the service descriptors, without generated stubs.

By grpclib: gRPC's own library costs every node 11 MB (docs/adr/0004).
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

import grpclib.client
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from grpclib.client import Stream, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from lading.kernel.errors import Malformed

HANDOVER_SECONDS_MAX = 60.0
"""To connect and to send a request; how long the answer takes is for each caller to limit."""

Response = TypeVar("Response", bound=Message)
Metadata: TypeAlias = Collection[tuple[str, str]]

# What becomes of an answer that is cut short, compressed unasked, or no such message.
_UNREADABLE = (AssertionError, NotImplementedError, DecodeError)


class CallFailed(Exception):
    """The status that a call ended with, the peer's or our own, and its message."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message


class Channel:
    """Connects with its first call, and again after the peer was restarted."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._connection = _connection(endpoint)

    def close(self) -> None:
        self._connection.close()

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
        path = f"/{service.full_name}/{method}"
        unary = UnaryUnaryMethod(self._connection, path, type(request), response)
        # grpclib wakes a call up by cancelling the task that it runs in, which asyncio remembers
        # of that task for ever; so it gets one of its own.
        task = asyncio.create_task(_outcome(unary, request, metadata))
        try:
            async with asyncio.timeout(timeout_seconds):
                outcome = await asyncio.shield(task)
        except TimeoutError as error:
            message = f"no answer in {timeout_seconds:g} seconds"
            raise CallFailed(Status.DEADLINE_EXCEEDED, message) from error
        finally:
            task.cancel()
        if isinstance(outcome, Exception):
            raise self._failed(outcome) from outcome
        return outcome

    def _failed(self, error: Exception) -> CallFailed:
        if isinstance(error, GRPCError):
            return CallFailed(error.status, error.message or error.status.name)
        if isinstance(error, OSError):
            why = error.strerror or str(error) or "it accepts no requests"
            return CallFailed(Status.UNAVAILABLE, f"cannot connect to {self._endpoint}: {why}")
        if isinstance(error, _UNREADABLE):
            return CallFailed(Status.INTERNAL, f"the answer cannot be read: {error!r}")
        # The peer lives, and gave up this call only: Go's servers do so with too long an error.
        if str(error).startswith("Stream reset"):
            was_refused = str(error).endswith(f": {ErrorCodes.REFUSED_STREAM}")
            status = Status.UNAVAILABLE if was_refused else Status.INTERNAL
            return CallFailed(status, f"the answer was broken off: {error}")
        message = f"the connection to {self._endpoint} broke: {error}"
        return CallFailed(Status.UNAVAILABLE, message)


async def _outcome(
    unary: UnaryUnaryMethod[Message, Response], request: Message, metadata: Metadata
) -> Response | Exception:
    """An error is returned: the caller may be gone, and then no task would retrieve it."""
    try:
        return await _answer(unary, request, metadata)
    except (GRPCError, OSError, StreamTerminatedError, ProtocolError, *_UNREADABLE) as error:
        return error


async def _answer(
    unary: UnaryUnaryMethod[Message, Response], request: Message, metadata: Metadata
) -> Response:
    async with unary.open(metadata=metadata) as stream:
        await _hand_over(stream, request)
        answer = await stream.recv_message()
    if answer is None:
        raise DecodeError("it holds no message")
    return answer


async def _hand_over(stream: Stream[Message, Response], request: Message) -> None:
    """Within a limit: grpclib tells no call that waits for its turn when the connection breaks."""
    try:
        async with asyncio.timeout(HANDOVER_SECONDS_MAX):
            await stream.send_message(request, end=True)
    except AttributeError as error:  # grpclib, of a connection that broke before its first call
        raise ConnectionAbortedError("it hung up at once") from error


@asynccontextmanager
async def channel_to(endpoint: str) -> AsyncIterator[Channel]:
    """A channel to `unix:///path` or `host:port`; it is lazy, so a stopped peer is no error."""
    channel = Channel(endpoint)
    try:
        yield channel
    finally:
        channel.close()


def _connection(endpoint: str) -> grpclib.client.Channel:
    scheme, _, address = endpoint.rpartition("://")
    host, _, port = address.rpartition(":")
    if scheme == "unix" and address:
        return grpclib.client.Channel(path=address)
    if scheme in ("", "tcp") and host and port.isdecimal():
        return grpclib.client.Channel(host.strip("[]"), int(port))
    raise Malformed(what="endpoint", text=endpoint, reason="expected unix:///path or host:port")
