"""An HTTP server that begins an answer and never ends it; it counts the bytes that it sent."""

import asyncio
import contextlib
import itertools
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field

MEBIBYTE = 1024 * 1024
_OK = b"HTTP/1.1 200 OK\r\n"


def status_line() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 "
    yield from itertools.repeat(b"O" * 4096)


def header() -> Iterator[bytes]:
    yield _OK + b"X: "
    yield from itertools.repeat(b"x" * 4096)


def headers() -> Iterator[bytes]:
    yield _OK
    yield from (b"X-%d: %b\r\n" % (number, b"x" * 1000) for number in itertools.count())


def interim_answers() -> Iterator[bytes]:
    yield from itertools.repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100)


def chunk_extension() -> Iterator[bytes]:
    yield _OK + b"Transfer-Encoding: chunked\r\n\r\n1;"
    yield from itertools.repeat(b"x" * 4096)


def trailers() -> Iterator[bytes]:
    yield _OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    yield from (b"X-%d: %b\r\n" % (number, b"x" * 1000) for number in itertools.count())


def body() -> Iterator[bytes]:
    yield _OK + b"\r\n"
    yield from itertools.repeat(b"x" * 65536)


def packed_body() -> Iterator[bytes]:
    """A thousand times as long when it is unpacked."""
    yield _OK + b"Content-Encoding: gzip\r\n\r\n"
    packer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    yield packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(16 * MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from itertools.repeat(block)


ANSWERS: tuple[Callable[[], Iterable[bytes]], ...] = (
    status_line,
    header,
    headers,
    trailers,
    body,
    packed_body,
)


@dataclass(slots=True)
class Endless:
    port: int = 0
    sent_bytes: int = 0
    talks: set[asyncio.Task[None]] = field(default_factory=set)


@contextlib.asynccontextmanager
async def answering(
    answer: Callable[[], Iterable[bytes]], *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Endless]:
    endless = Endless()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in answer():
                writer.write(piece)
                await writer.drain()
                endless.sent_bytes += len(piece)
                await asyncio.sleep(0)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endless.talks.add(asyncio.create_task(talk(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    async with server:
        endless.port = server.sockets[0].getsockname()[1]
        try:
            yield endless
        finally:
            for task in endless.talks:
                task.cancel()
            await asyncio.gather(*endless.talks, return_exceptions=True)
