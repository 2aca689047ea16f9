"""gRPC calls and handlers straight from the service descriptors, without generated stubs."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
"""What kubelet, containerd and CRI-O use; gRPC's own default of 4 MiB is too small for lists."""

MESSAGE_OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
)

Response = TypeVar("Response", bound=Message)
Refusal = TypeVar("Refusal", bound=Exception)
Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Status: TypeAlias = tuple[grpc.StatusCode, str]


def unary_call(
    channel: grpc.aio.Channel, service: ServiceDescriptor, method: str, response: type[Response]
) -> Callable[..., Awaitable[Response]]:
    """One call of a service; the response's type is named for the reader and the type checker."""
    call: Callable[..., Awaitable[Response]] = channel.unary_unary(
        f"/{service.full_name}/{method}",
        request_serializer=_serialize,
        response_deserializer=response.FromString,
    )
    return call


def handlers(
    service: ServiceDescriptor,
    servicer: object,
    *,
    refusals: type[Refusal],
    status_of: Callable[[Refusal], Status],
) -> grpc.GenericRpcHandler:
    """Serves the methods that the servicer has, in snake case; the rest are UNIMPLEMENTED.

    An error of the type `refusals` is answered with its status; any other is a bug.
    """

    def wrapped(method: MethodDescriptor, function: Any) -> Any:
        async def unary(request: Message, context: Context) -> Message:
            try:
                answer: Message = await function(request, context)
            except refusals as error:
                await context.abort(*status_of(error))
            return answer

        async def stream(request: Message, context: Context) -> AsyncIterator[Message]:
            try:
                async for answer in function(request, context):
                    yield answer
            except refusals as error:
                await context.abort(*status_of(error))

        return stream if method.server_streaming else unary

    table = {
        method.name: _handler(method, wrapped(method, getattr(servicer, _snake(method.name))))
        for method in service.methods
        if hasattr(servicer, _snake(method.name))
    }
    return grpc.method_handlers_generic_handler(service.full_name, table)


def _handler(method: MethodDescriptor, function: Any) -> Any:
    make = (
        grpc.unary_stream_rpc_method_handler
        if method.server_streaming
        else grpc.unary_unary_rpc_method_handler
    )
    request = message_factory.GetMessageClass(method.input_type)
    return make(function, request_deserializer=request.FromString, response_serializer=_serialize)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
