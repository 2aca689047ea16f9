"""gRPC calls by service descriptors and grpclib, without generated stubs."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from grpclib.client import UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from lading.kernel.errors import Malformed
from lading.wire.connection import AnswerReset, AnswerTooLong, CannotConnect, RuntimeConnection

Response = TypeVar("Response", bound=Message)
Metadata: TypeAlias = Collection[tuple[str, str]]

# What grpclib raises for an answer that is cut short, compressed unasked, or no such message.
_UNREADABLE = (AssertionError, NotImplementedError, LookupError, ValueError, DecodeError)

_STATUS_BY_RESET: Mapping[ErrorCodes | None, Status] = {
    ErrorCodes.REFUSED_STREAM: Status.UNAVAILABLE,
    ErrorCodes.CANCEL: Status.CANCELLED,
}
_CLOSED = "this process closed it"


class CallFailed(Exception):
    """The status that a call ended with, the peer's or our own, and its message."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(f"{status.name}: {message}")
        self.status = status
        self.message = message


class Channel:
    """Connects at the first call, and again after a restart of the peer."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._address = _address(endpoint)
        self._connection: RuntimeConnection | None = None
        self._lost: asyncio.Future[str] | None = None
        """Why the connection of the calls in flight ended."""
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        self._end_calls(_CLOSED)
        if self._connection is not None:
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
        if self._is_closed:
            raise self._failed(StreamTerminatedError(_CLOSED))
        if self._connection is None:
            self._connection = RuntimeConnection(address=self._address, on_lost=self._end_calls)
        if self._lost is None:
            self._lost = asyncio.get_running_loop().create_future()
        path = f"/{service.full_name}/{method}"
        unary = UnaryUnaryMethod(self._connection, path, type(request), response)
        # grpclib ends a call by cancelling its task, so each call has a task of its own.
        task = asyncio.create_task(_outcome(unary, request, metadata))
        lost = self._lost
        try:
            await asyncio.wait(
                (task, lost), timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            task.cancel()
        outcome = task.result() if task.done() and not task.cancelled() else None
        if lost.done() and (outcome is None or isinstance(outcome, StreamTerminatedError)):
            outcome = StreamTerminatedError(lost.result())
        if outcome is None:
            message = f"no answer in {timeout_seconds:g} seconds"
            raise CallFailed(Status.DEADLINE_EXCEEDED, message)
        if isinstance(outcome, Exception):
            raise self._failed(outcome) from outcome
        return outcome

    def _end_calls(self, why: str) -> None:
        if self._lost is not None:
            self._lost.set_result(why)
            self._lost = None

    def _failed(self, error: Exception) -> CallFailed:
        match error:
            case GRPCError():
                return CallFailed(error.status, error.message or error.status.name)
            case CannotConnect():
                message = f"cannot connect to {self._endpoint}: {error}"
                return CallFailed(Status.UNAVAILABLE, message)
            case AnswerTooLong():
                message = f"the answer cannot be read: {error}"
                return CallFailed(Status.RESOURCE_EXHAUSTED, message)
            case AnswerReset():
                # The peer gave up this call only: Go's servers do so with too long an error.
                status = _STATUS_BY_RESET.get(error.code, Status.INTERNAL)
                return CallFailed(status, f"the answer was broken off: {error}")
            case StreamTerminatedError() | ProtocolError():
                message = f"the connection to {self._endpoint} broke: {error}"
                return CallFailed(Status.UNAVAILABLE, message)
            case _:
                return CallFailed(Status.INTERNAL, f"the answer cannot be read: {error!r}")


async def _outcome(
    unary: UnaryUnaryMethod[Message, Response], request: Message, metadata: Metadata
) -> Response | Exception:
    """An error is returned: after a cancellation of the caller nothing would retrieve it."""
    try:
        return await _answer(unary, request, metadata)
    except (
        GRPCError,
        StreamTerminatedError,
        ProtocolError,
        CannotConnect,
        *_UNREADABLE,
    ) as error:
        return error


async def _answer(
    unary: UnaryUnaryMethod[Message, Response], request: Message, metadata: Metadata
) -> Response:
    async with unary.open(metadata=metadata) as stream:
        await stream.send_message(request, end=True)
        answer = await stream.recv_message()
        await stream.recv_trailing_metadata()
    if answer is None:
        raise DecodeError("it holds no message")
    return answer


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
