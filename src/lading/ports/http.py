"""One HTTP request in, one response out.

aiohttp implements `HttpTransport` for a remote server; the core of the embedded API server
implements it in the same process.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec

ANSWER_BYTES_MAX = 512 * 1024 * 1024
"""Of an API server, unpacked: a page of 500 objects of 1 MiB, which is about what etcd stores."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    """Header names in lower case."""
    body: bytes = b""
    answer_bytes_max: int = ANSWER_BYTES_MAX
    """Smaller for an answer that the API server only passes on."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: Mapping[str, str] = {}
    """Header names in lower case."""
    body: bytes | AsyncIterator[bytes] = b""
    """Whole, or a stream (a watch) that its reader closes with `aclose`."""


class HttpTransport(Protocol):
    async def __call__(self, request: Request) -> Response: ...
