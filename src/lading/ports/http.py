"""The seam between a client and a server that speak HTTP: one request in, one response out.

An `Exchange` is implemented by aiohttp for a server far away and, in the same process, by the
embedded server's own core. Clients cannot tell the difference.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names in lower case."""
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names in lower case."""
    body: bytes | AsyncIterator[bytes] = b""
    """Whole, or a stream (a watch) that its reader closes with `aclose`."""


class Exchange(Protocol):
    async def __call__(self, request: Request) -> Response: ...
