"""Writes the requests of HTTP/1.1 and reads its answers, from an asyncio stream.

Raises ValueError for what is not HTTP, IncompleteReadError for an answer that is cut off.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

_READ_BYTES = 64 * 1024
_END = b"\r\n"
_WITHOUT_BODY = frozenset({204, 304})
_INTERIM_STATUS_MAX = 199
_INTERIM_ANSWERS_MAX = 10


class Head(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: Mapping[str, str]
    """Header names in lower case; one that is there several times is joined by commas."""
    has_body: bool
    keeps_connection: bool


def request(method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if body or method not in ("GET", "HEAD", "DELETE"):
        lines.append(f"content-length: {len(body)}")
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header has a line break")
    return _END.join([*(line.encode() for line in lines), b"", body])


async def head(reader: asyncio.StreamReader, *, method: str) -> Head:
    for _ in range(_INTERIM_ANSWERS_MAX):
        found = _head(await reader.readuntil(_END + _END), method)
        if found.status > _INTERIM_STATUS_MAX:
            return found
    raise ValueError("the server sends interim answers without an end")


def _head(text: bytes, method: str) -> Head:
    first, *lines = text.decode("latin-1").strip().split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.0", "HTTP/1.1") or not code.isdecimal():
        raise ValueError("the answer is not HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name = name.lower()
        headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    status = int(code)
    has_body = status not in _WITHOUT_BODY and method != "HEAD"
    has_end = "content-length" in headers or "transfer-encoding" in headers or not has_body
    return Head(
        status=status,
        headers=headers,
        has_body=has_body,
        keeps_connection=version == "HTTP/1.1"
        and headers.get("connection", "").lower() != "close"
        and has_end,
    )


async def pieces(reader: asyncio.StreamReader, of: Head) -> AsyncIterator[bytes]:
    """The body, as it comes."""
    if not of.has_body:
        return
    if of.headers.get("transfer-encoding", "").lower() == "chunked":
        while size := _size((await reader.readuntil(_END)).partition(b";")[0], base=16):
            async for piece in _exactly(reader, size):
                yield piece
            await reader.readexactly(len(_END))
        while await reader.readuntil(_END) != _END:
            pass  # trailers
    elif "content-length" in of.headers:
        async for piece in _exactly(reader, _size(of.headers["content-length"], base=10)):
            yield piece
    else:
        while piece := await reader.read(_READ_BYTES):
            yield piece


def _size(text: str | bytes, *, base: int) -> int:
    size = int(text, base)
    if size < 0:
        raise ValueError("a size is negative")
    return size


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size > 0:
        piece = await reader.read(min(size, _READ_BYTES))
        if not piece:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(piece)
        yield piece
