"""A server that says whatever a test wants it to, byte by byte, and remembers what it was asked."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import credentials
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.retries import ClientLimits
from lading.kernel import references
from lading.kernel.backoff import Backoff
from lading.kernel.references import Reference
from lading.ports.registry import Credential

SMALL = ClientLimits(
    attempts_max=2,
    back_off=Backoff(seconds_min=0.01, seconds_max=0.01),
    retry_after_seconds_max=0.5,
)
"""As patient as usual, so that a busy machine is not taken for a silent server."""


_TLS_HANDSHAKE = b"\x16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


Answering = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Hostile:
    host: str = ""
    received: list[Received] = field(default_factory=list)


@contextlib.asynccontextmanager
async def served(
    answering: Answering,
    tls: ssl.SSLContext | None = None,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
) -> AsyncIterator[Hostile]:
    hostile = Hostile()
    talks: list[asyncio.Task[None]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                request = await _read(reader)
                hostile.received.append(request)
                await answering(request, writer)
                await writer.drain()
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.create_task(talk(reader, writer)))

    server = await asyncio.start_server(accept, address, port, ssl=tls)
    hostile.host = f"{address}:{server.sockets[0].getsockname()[1]}"
    try:
        yield hostile
    finally:
        server.close()
        for each in talks:
            each.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Received:
    first = await reader.readexactly(1)
    if first == _TLS_HANDSHAKE:
        raise ConnectionAbortedError("this server speaks no TLS")
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    lines = (line.partition(": ") for line in head[1:] if line)
    headers = {key.lower(): value for key, _, value in lines}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method=method, path=path, headers=headers, body=body)


def head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *lines, "", ""]).encode()


def whole(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return head(status, f"Content-Length: {len(body)}", *lines) + body


def always(answer: bytes) -> Answering:
    async def answering(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return answering


def app(host: str) -> Reference:
    return references.parse(f"{host}/team/app:v1")


def authenticated(host: str) -> contextlib.AbstractAsyncContextManager[RegistryClient]:
    table = credentials.Table({host: Credential(username="user", password="secret")})
    return registry_client.connect(SystemClock(), credentials=table, limits=SMALL)
