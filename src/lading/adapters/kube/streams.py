"""Reads the body of a response: whole, or line by line while it is still being written."""

import contextlib
from collections.abc import AsyncIterator
from typing import Protocol, cast

from lading.ports import kube

LINE_BYTES_MAX = 16 * 1024 * 1024
"""Five times the largest object that an API server takes (3 MiB)."""
Body = bytes | AsyncIterator[bytes]


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class Lines:
    """Cuts chunks, as they come, into lines; keeps what has no end yet."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *complete, self._pending = (self._pending + chunk).split(b"\n")
        if len(self._pending) > LINE_BYTES_MAX:
            raise kube.Unavailable(f"a watch sent a line of more than {LINE_BYTES_MAX} bytes")
        return [line for line in complete if line]

    def finish(self) -> None:
        if self._pending:
            raise kube.Unavailable("the watch ended in the middle of an event")


@contextlib.asynccontextmanager
async def chunks(body: Body) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body as a stream, closed on every way out."""
    stream = _once(body) if isinstance(body, bytes) else body
    try:
        yield stream
    finally:
        await cast(_Closable, stream).aclose()


async def whole(body: Body) -> bytes:
    if isinstance(body, bytes):
        return body
    async with chunks(body) as stream:
        return b"".join([chunk async for chunk in stream])


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
