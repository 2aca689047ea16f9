"""Blobs as verified streams that are resumed when a connection is lost.

Memory holds one piece. The last piece is held back until size and digest are known to be right, so
a reader who got everything got the right thing, and one who got an error must drop what it has.
"""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, Sequence

import aiohttp

from lading.adapters.registry.endpoint_client import EndpointClient, EndpointRequest
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.retries import Retries
from lading.kernel.manifests import Descriptor
from lading.ports import registry
from lading.ports.registry import Transient

_PARTIAL = 206
# A connection that brought this much before it was lost does not count as a failed attempt.
PROGRESS_BYTES_MIN = 1024 * 1024


class Download:
    """The state of one blob on its way: how far it is, and the hash so far."""

    def __init__(self, descriptor: Descriptor, *, offset: int, what: str) -> None:
        if not 0 <= offset <= descriptor.size_bytes:
            raise ValueError(f"offset {offset} is outside the {descriptor.size_bytes} bytes")
        self.position = offset
        self.what = what
        self.descriptor = descriptor
        self._hash = hashlib.new(descriptor.digest.algorithm) if offset == 0 else None

    @property
    def is_whole(self) -> bool:
        return self.position == self.descriptor.size_bytes

    def take(self, piece: bytes) -> None:
        self.position += len(piece)
        if self.position > self.descriptor.size_bytes:
            expected = self.descriptor.size_bytes
            raise registry.SizeMismatch(f"{self.what}: more than the {expected} bytes expected")
        if self._hash is not None:
            self._hash.update(piece)

    def check_whole(self) -> None:
        if not self.is_whole:
            wanted = self.descriptor.size_bytes
            message = f"{self.what}: ended after {self.position} of {wanted} bytes"
            raise registry.SizeMismatch(message)
        if self._hash is not None and self._hash.hexdigest() != self.descriptor.digest.encoded:
            found = f"{self.descriptor.digest.algorithm}:{self._hash.hexdigest()}"
            raise registry.DigestMismatch(f"{self.what}: the content has the digest {found}")


async def pieces(
    download: Download,
    *,
    endpoints: Sequence[Endpoint],
    client: EndpointClient,
    retries: Retries,
) -> AsyncGenerator[bytes, None]:
    """The bytes from the download's position to the end, over as many connections as it takes."""
    if download.position and download.is_whole:
        return
    failures = 0
    held = b""
    while True:
        began_at = download.position
        try:
            async with (
                client.transport.downloads[endpoints[-1].host],
                await retries.first(
                    endpoints, lambda endpoint: _opened(client, endpoint, download)
                ) as response,
                contextlib.aclosing(_rest(client, response, download)) as rest,
            ):
                async for piece in rest:
                    download.take(piece)
                    if held:
                        yield held
                    held = piece
        except Transient as error:
            if download.is_whole:
                break  # it was lost after the last byte
            progressed = download.position - began_at >= PROGRESS_BYTES_MIN
            failures = 0 if progressed else failures + 1
            await retries.pause(error, attempt=max(failures, 1))
        else:
            break
    download.check_whole()
    if held:
        yield held


async def _opened(
    client: EndpointClient, endpoint: Endpoint, download: Download
) -> aiohttp.ClientResponse:
    headers = {"Range": f"bytes={download.position}-"} if download.position else {}
    path = f"blobs/{download.descriptor.digest}"
    return await client.send(
        endpoint, EndpointRequest(method="GET", path=path, what=download.what, headers=headers)
    )


async def _rest(
    client: EndpointClient, response: aiohttp.ClientResponse, download: Download
) -> AsyncGenerator[bytes, None]:
    """What is still missing; a registry without ranges sends all, and the known part is dropped."""
    known = 0 if response.status == _PARTIAL else download.position
    if response.status == _PARTIAL:
        _check_range(response, download)
    async with contextlib.aclosing(
        client.transport.pieces(response, what=download.what)
    ) as arriving:
        async for piece in arriving:
            dropped = min(known, len(piece))
            known -= dropped
            if dropped < len(piece):
                yield piece[dropped:]


def _check_range(response: aiohttp.ClientResponse, download: Download) -> None:
    answered = response.headers.get("Content-Range", "")
    if not answered.startswith(f"bytes {download.position}-"):
        raise registry.MalformedAnswer(
            f"{download.what}: asked for the bytes from {download.position}, got {answered[:60]!r}"
        )
