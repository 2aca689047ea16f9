"""Serves an embedded runtime on a unix socket."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.embedded.cri import messages
from lading.embedded.cri.containerd_service import ContainerdImages, Refused
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.cri.services import ImageService, RuntimeService
from lading.ports import cri
from lading.wire import containerd_images_pb2, cri_pb2
from lading.wire.handlers import Server, Service

SOCKET_MODE = 0o660  # like containerd and CRI-O: its users are root on the node
SOCKET_PATH_BYTES_MAX = 107  # of the kernel's 108, the last is a zero


class CannotListen(Exception):
    """The socket cannot be created."""

    def __init__(self, socket: Path) -> None:
        super().__init__(
            f"cannot create a socket at {socket}; choose a writable folder. The path of the socket"
            f" may have at most {SOCKET_PATH_BYTES_MAX} bytes"
        )


@asynccontextmanager
async def serve(runtime: EmbeddedRuntime, socket: Path) -> AsyncIterator[str]:
    """Yields the endpoint, `unix://…`; replaces a socket of an earlier run."""
    if len(os.fsencode(socket)) > SOCKET_PATH_BYTES_MAX:
        raise CannotListen(socket)
    server = Server(services(runtime))
    try:
        await server.start(path=str(socket))
    except OSError as error:
        raise CannotListen(socket) from error
    os.chmod(socket, SOCKET_MODE)
    async with server:
        yield f"unix://{socket}"


def services(runtime: EmbeddedRuntime) -> tuple[Service, ...]:
    services = cri_pb2.DESCRIPTOR.services_by_name
    for_cri = {"ImageService": ImageService(runtime), "RuntimeService": RuntimeService(runtime)}
    return (
        *(
            Service(
                services[name],
                servicer,
                refusals=cri.CriError,
                status_of=messages.code_and_details,
            )
            for name, servicer in for_cri.items()
        ),
        Service(
            containerd_images_pb2.DESCRIPTOR.services_by_name["Images"],
            ContainerdImages(runtime),
            refusals=Refused,
            status_of=lambda refused: refused.status,
        ),
    )
