"""Serves gRPC calls straight from the service descriptors, without generated stubs."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from lading.wire import MESSAGE_BYTES_MAX

MESSAGE_OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
)

DETAILS_BYTES_MAX = 4096
"""A client may hang up over a longer status, and with it end every other call that is in flight."""

Refusal = TypeVar("Refusal", bound=Exception)
Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Status: TypeAlias = tuple[grpc.StatusCode, str]


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

    def answered(function: Any) -> Any:
        async def answer(request: Message, context: Context) -> Message:
            try:
                return cast(Message, await function(request, context))
            except refusals as error:
                code, details = status_of(error)
                await context.abort(code, _cut(details))

        return answer

    table = {
        method.name: grpc.unary_unary_rpc_method_handler(
            answered(getattr(servicer, _snake(method.name))),
            request_deserializer=message_factory.GetMessageClass(method.input_type).FromString,
            response_serializer=_serialize,
        )
        for method in service.methods
        if hasattr(servicer, _snake(method.name))
    }
    return grpc.method_handlers_generic_handler(service.full_name, table)


def _cut(details: str) -> str:
    encoded = details.encode()
    if len(encoded) <= DETAILS_BYTES_MAX:
        return details
    return encoded[:DETAILS_BYTES_MAX].decode(errors="ignore") + " ..."


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
