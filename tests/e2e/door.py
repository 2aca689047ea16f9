"""A door in front of a server: open it forwards connections, shut it refuses them.

So a server can be gone and back under one address, whatever server it is.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

PIECE_BYTES = 64 * 1024


class Door:
    """Opens and shuts; a shut door cuts what was under way."""

    def __init__(self, *, host: str, port: int) -> None:
        self._behind = host, port
        self._place = _taken(0)
        self._port: int = self._place.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.StreamWriter] = set()
        self.passed_count = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._port}"

    async def open(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._pass, sock=self._place)

    async def shut(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in tuple(self._passing):
                writer.transport.abort()
            self._server = None
            self._place = _taken(self._port)

    def remove(self) -> None:
        self._place.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.passed_count += 1
        inner_reader, inner_writer = await asyncio.open_connection(*self._behind)
        both = {writer, inner_writer}
        self._passing |= both
        try:
            await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
        finally:
            self._passing -= both
            for one in both:
                one.close()


def _taken(port: int) -> socket.socket:
    """A port that no other process gets, where nothing listens; 0 takes any that is free."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", port))
    return place


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


@contextlib.asynccontextmanager
async def before(address: str) -> AsyncIterator[Door]:
    """An open door before HOST:PORT."""
    host, _, port = address.rpartition(":")
    door = Door(host=host, port=int(port))
    await door.open()
    try:
        yield door
    finally:
        await door.shut()
        door.remove()
