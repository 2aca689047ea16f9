"""Serves gRPC calls by service descriptors and grpclib, without generated stubs."""

import re
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import grpclib.server
from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol

DETAILS_BYTES_MAX = 4096
"""A client may hang up over a longer status, and with it end every other call that is in flight."""

Refusal = TypeVar("Refusal", bound=Exception)
Metadata: TypeAlias = Mapping[str, str | bytes]
Stream: TypeAlias = grpclib.server.Stream[Message, Message]


class Service:
    """The methods that the servicer has, in snake case; the rest are UNIMPLEMENTED.

    An error of the type `refusals` is answered with its status; any other is a bug.
    """

    def __init__(
        self,
        service: ServiceDescriptor,
        servicer: object,
        *,
        refusals: type[Refusal],
        status_of: Callable[[Refusal], tuple[Status, str]],
    ) -> None:
        async def answered(method: str, request: Any, metadata: Any) -> Message:
            try:
                answer: Message = await getattr(servicer, _snake(method))(request, metadata)
            except refusals as error:
                status, details = status_of(error)
                raise GRPCError(status, _cut(details)) from error
            return answer

        def streamed(method: str) -> Callable[[Stream], Awaitable[None]]:
            async def answer(stream: Stream) -> None:
                request = await stream.recv_message()
                await stream.send_message(await answered(method, request, stream.metadata))

            return answer

        self.name = service.full_name
        self.answer = answered
        """One call without a connection; raises GRPCError for a refusal."""
        self._handlers = {
            f"/{service.full_name}/{method.name}": Handler(
                streamed(method.name),
                Cardinality.UNARY_UNARY,
                message_factory.GetMessageClass(method.input_type),
                message_factory.GetMessageClass(method.output_type),
            )
            for method in service.methods
            if hasattr(servicer, _snake(method.name))
        }

    def __mapping__(self) -> dict[str, Handler]:
        return self._handlers


class Server(grpclib.server.Server):
    """Closes its connections when it ends; grpclib's would serve those that are open."""

    def __init__(self, services: Iterable[Service]) -> None:
        super().__init__(list(services))
        self._protocols: weakref.WeakSet[H2Protocol] = weakref.WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        protocol = super()._protocol_factory()
        self._protocols.add(protocol)
        return protocol

    def close(self) -> None:
        super().close()
        for protocol in self._protocols:
            if hasattr(protocol, "processor"):  # not yet, in the moment that it is accepted
                protocol.processor.close()


def _cut(details: str) -> str:
    encoded = details.encode()
    if len(encoded) <= DETAILS_BYTES_MAX:
        return details
    return encoded[:DETAILS_BYTES_MAX].decode(errors="ignore") + " ..."


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
