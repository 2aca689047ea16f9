"""Requests over plain asyncio streams, for commands: loading aiohttp takes longer than they do.

HTTP/1.1 as API servers speak it: kept connections, bodies in chunks, gzip, a stream for a watch.
No proxy; `exchange` chooses aiohttp for one.
"""

import asyncio
import contextlib
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from lading.adapters import connecting
from lading.adapters.kube import errors, http_messages, retry, tls, transport
from lading.adapters.kube.connection import Certificate, Connection
from lading.adapters.kube.credentials import Proof
from lading.adapters.kube.http_messages import Head
from lading.ports import kube
from lading.ports.http import Request, Response

_PORTS = {"http": 80, "https": 443}
_PATH_CHARACTERS = "/:@!$&'()*+,;=~"
_NEXT_ADDRESS_SECONDS = 0.25
"""As RFC 8305 advises, when one address of a host does not answer."""
_GZIP = 16 + zlib.MAX_WBITS
_OK = 200


class _Line(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One connection, and what it proves."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    certificate: Certificate | None


class StreamTransport:
    def __init__(self, connection: Connection, *, watch_idle_seconds: float) -> None:
        parts = urlsplit(connection.server)
        self._connection = connection
        self._is_tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or _PORTS[parts.scheme]
        self._host_header = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._contexts = tls.Contexts(connection.trust)
        self._watch_idle_seconds = watch_idle_seconds
        self._lines: set[_Line] = set()
        self._kept: list[_Line] = []
        self._slots = asyncio.Semaphore(transport.CONNECTIONS_MAX)

    async def close(self) -> None:
        for line in tuple(self._lines):
            self._drop(line)

    async def send(self, request: Request, proof: Proof) -> Response:
        with self._translated(request):
            async with self._slots, asyncio.timeout(transport.REQUEST_SECONDS_MAX):
                line, head = await self._answered(request, proof)
                if head.status == _OK and transport.is_watch(request):
                    stream = self._stream(request, line, head)
                    return Response(status=head.status, headers=head.headers, body=stream)
                body = await self._body(line, head)
        return Response(status=head.status, headers=head.headers, body=body)

    async def _answered(self, request: Request, proof: Proof) -> tuple[_Line, Head]:
        message = self._message(request, proof)
        kept = self._take(proof.certificate)
        if kept is not None:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                return kept, await self._asked(kept, request, message)
            if not retry.is_repeatable(request):
                raise ConnectionResetError("the server closed the connection")
        line = await self._open(proof.certificate)
        return line, await self._asked(line, request, message)

    async def _asked(self, line: _Line, request: Request, message: bytes) -> Head:
        try:
            line.writer.write(message)
            await line.writer.drain()
            return await http_messages.head(line.reader, method=request.method)
        except BaseException:
            self._drop(line)
            raise

    def _take(self, certificate: Certificate | None) -> _Line | None:
        while self._kept:
            line = self._kept.pop()
            if line.certificate == certificate and not line.reader.at_eof():
                return line
            self._drop(line)
        return None

    async def _open(self, certificate: Certificate | None) -> _Line:
        context = self._contexts.context(certificate) if self._is_tls else None
        name = self._connection.trust.server_name or self._host
        try:
            async with asyncio.timeout(transport.CONNECT_SECONDS_MAX):
                reader, writer = await asyncio.open_connection(
                    self._host,
                    self._port,
                    ssl=context,
                    server_hostname=name if self._is_tls else None,
                    happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                )
        except (ssl.SSLCertVerificationError, TimeoutError):
            raise
        except OSError as error:
            address = f"{self._host}:{self._port}"
            raise retry.not_reached(address, connecting.system_reason(error)) from error
        line = _Line(reader=reader, writer=writer, certificate=certificate)
        self._lines.add(line)
        return line

    def _drop(self, line: _Line) -> None:
        self._lines.discard(line)
        line.writer.transport.abort()

    async def _body(self, line: _Line, head: Head) -> bytes:
        try:
            pieces = [piece async for piece in http_messages.pieces(line.reader, head)]
        except BaseException:
            self._drop(line)
            raise
        if head.keeps_connection:
            self._kept.append(line)
        else:
            self._drop(line)
        body = b"".join(pieces)
        is_packed = head.headers.get("content-encoding") == "gzip"
        return zlib.decompress(body, wbits=_GZIP) if is_packed else body

    async def _stream(self, request: Request, line: _Line, head: Head) -> AsyncIterator[bytes]:
        """Its connection ends with it; before the first piece is asked for, `close` ends it."""
        pieces = http_messages.pieces(line.reader, head)
        try:
            while True:
                with self._translated(request):
                    async with asyncio.timeout(self._watch_idle_seconds):
                        piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece
        finally:
            self._drop(line)

    def _message(self, request: Request, proof: Proof) -> bytes:
        target = quote(f"{self._prefix}{request.path}", safe=_PATH_CHARACTERS)
        if request.query:
            target = f"{target}?{urlencode(request.query, quote_via=quote)}"
        is_packable = self._connection.compression and not transport.is_watch(request)
        headers = {
            "host": self._host_header,
            "accept-encoding": "gzip" if is_packable else "identity",
            **transport.HEADERS,
            **request.headers,
        }
        return http_messages.request(
            request.method, target, [*headers.items(), *proof.headers], request.body
        )

    @contextlib.contextmanager
    def _translated(self, request: Request) -> Iterator[None]:
        what = transport.described(request, self._connection.server)
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            raise errors.untrusted(what, error) from error
        except TimeoutError as error:
            raise kube.Unavailable(f"{what}: the server did not answer in time") from error
        except (OSError, EOFError, ValueError, zlib.error, asyncio.LimitOverrunError) as error:
            raise kube.Unavailable(f"{what}: {type(error).__name__}: {error}") from error
