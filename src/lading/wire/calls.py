"""gRPC calls straight from the service descriptors, without generated stubs.

By grpclib: gRPC's own library costs every node 11 MB (docs/adr/0004).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

import grpclib.client
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.exceptions import ProtocolError

from lading.kernel.errors import Malformed

Response = TypeVar("Response", bound=Message)
Metadata: TypeAlias = Collection[tuple[str, str]]


class CallFailed(Exception):
    """The status that a call ended with, the peer's or our own, and what was said."""

    def __init__(self, status: Status, said: str) -> None:
        super().__init__(f"{status.name}: {said}")
        self.status = status
        self.said = said


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
        unary = grpclib.client.UnaryUnaryMethod(self._connection, path, type(request), response)
        # grpclib wakes a call up by cancelling the task that it runs in, which asyncio remembers
        # of that task for ever; so it gets one of its own.
        task = asyncio.create_task(_outcome(unary(request, metadata=metadata)))
        try:
            async with asyncio.timeout(timeout_seconds):
                outcome = await asyncio.shield(task)
        except TimeoutError as error:
            said = f"no answer in {timeout_seconds:g} seconds"
            raise CallFailed(Status.DEADLINE_EXCEEDED, said) from error
        finally:
            task.cancel()
        if isinstance(outcome, Exception):
            raise self._failed(outcome) from outcome
        return outcome

    def _failed(self, error: Exception) -> CallFailed:
        if isinstance(error, GRPCError):
            return CallFailed(error.status, error.message or error.status.name)
        if isinstance(error, OSError):
            said = f"nobody answers on {self._endpoint}: {error.strerror or error}"
            return CallFailed(Status.UNAVAILABLE, said)
        # The peer lives, and gave up this call only: Go's servers do so with too long an error.
        if str(error).startswith("Stream reset"):
            return CallFailed(Status.INTERNAL, f"the answer was broken off: {error}")
        said = f"the connection to {self._endpoint} broke: {error}"
        return CallFailed(Status.UNAVAILABLE, said)


async def _outcome(answer: Awaitable[Response]) -> Response | Exception:
    """An error is returned, because nobody may be there any more to whom it could be raised."""
    try:
        return await answer
    except (GRPCError, OSError, StreamTerminatedError, ProtocolError) as error:
        return error


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
