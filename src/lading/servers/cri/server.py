"""Serves an embedded runtime on a unix socket, until the context ends."""

import os
import urllib.parse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio

from lading.ports import cri
from lading.servers.cri import messages
from lading.servers.cri.containerd_service import ContainerdImages, Refused
from lading.servers.cri.core import EmbeddedRuntime
from lading.servers.cri.image_service import ImageService
from lading.servers.cri.runtime_service import RuntimeService
from lading.wire import containerd_images_pb2, cri_pb2, handlers

STOP_GRACE_SECONDS = 1.0
SOCKET_MODE = 0o660  # as containerd and CRI-O: a user who may write to it is root on the node
SOCKET_PATH_BYTES_MAX = 107  # of the kernel's 108, the last is a zero


class CannotListen(Exception):
    """The socket cannot be made."""

    def __init__(self, socket: Path) -> None:
        super().__init__(
            f"cannot create a socket at {socket}; choose a writable folder. The path of the socket"
            f" may have at most {SOCKET_PATH_BYTES_MAX} bytes"
        )


@asynccontextmanager
async def serve(runtime: EmbeddedRuntime, socket: Path) -> AsyncIterator[str]:
    """Yields the endpoint, `unix://…`; a socket that an earlier run left behind is replaced."""
    if len(os.fsencode(socket)) > SOCKET_PATH_BYTES_MAX:  # gRPC would also log it
        raise CannotListen(socket)
    server = grpc.aio.server(options=handlers.MESSAGE_OPTIONS)
    server.add_generic_rpc_handlers(_handlers(runtime))
    try:
        server.add_insecure_port(f"unix://{urllib.parse.quote(str(socket))}")
    except RuntimeError as error:  # gRPC's only word
        raise CannotListen(socket) from error
    await server.start()
    os.chmod(socket, SOCKET_MODE)
    try:
        yield f"unix://{socket}"
    finally:
        await server.stop(STOP_GRACE_SECONDS)


def _handlers(runtime: EmbeddedRuntime) -> tuple[grpc.GenericRpcHandler, ...]:
    services = cri_pb2.DESCRIPTOR.services_by_name
    for_cri = {"ImageService": ImageService(runtime), "RuntimeService": RuntimeService(runtime)}
    return (
        *(
            handlers.handlers(
                services[name],
                servicer,
                refusals=cri.CriError,
                status_of=messages.code_and_details,
            )
            for name, servicer in for_cri.items()
        ),
        handlers.handlers(
            containerd_images_pb2.DESCRIPTOR.services_by_name["Images"],
            ContainerdImages(runtime),
            refusals=Refused,
            status_of=lambda refused: refused.status,
        ),
    )
