"""Pushes blobs and manifests to the registry itself, never to a mirror.

A blob that is there already is not sent. A stream that was begun to be sent is not sent again by
itself, because it cannot be read twice: the caller gets a transient error and decides. Bytes are.
"""

from collections.abc import AsyncIterable

import aiohttp
import yarl

from lading.adapters.registry import locations
from lading.adapters.registry.endpoint_client import PUSH, EndpointClient, EndpointRequest
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.retries import Retries
from lading.kernel.digests import Digest
from lading.kernel.manifests import Descriptor
from lading.ports import registry
from lading.ports.registry import Manifest


class Uploads:
    def __init__(self, client: EndpointClient, retries: Retries) -> None:
        self._client = client
        self._retries = retries

    async def blob(
        self, endpoint: Endpoint, descriptor: Descriptor, content: AsyncIterable[bytes]
    ) -> None:
        what = f"push of blob {descriptor.digest} to {endpoint.image}"
        if await self._exists(endpoint, descriptor.digest, what):
            return
        location = await self._retries.first([endpoint], lambda each: self._begin(each, what))
        await self._put(endpoint, location, descriptor, content, what)

    async def small_blob(self, endpoint: Endpoint, descriptor: Descriptor, content: bytes) -> None:
        what = f"push of blob {descriptor.digest} to {endpoint.image}"

        async def send(each: Endpoint) -> None:
            location = await self._begin(each, what)
            await self._put(each, location, descriptor, content, what)

        if not await self._exists(endpoint, descriptor.digest, what):
            await self._retries.first([endpoint], send)

    async def _put(
        self,
        endpoint: Endpoint,
        location: yarl.URL,
        descriptor: Descriptor,
        content: AsyncIterable[bytes] | bytes,
        what: str,
    ) -> None:
        response = await self._client.send(
            endpoint,
            EndpointRequest(
                method="PUT",
                path=location,
                what=what,
                actions=PUSH,
                query=(("digest", str(descriptor.digest)),),
                headers={
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(descriptor.size_bytes),
                },
                body=content,
            ),
        )
        response.release()

    async def manifest(self, endpoint: Endpoint, reference: str, manifest: Manifest) -> None:
        what = f"push of manifest {endpoint.image} {reference}"

        async def put(each: Endpoint) -> aiohttp.ClientResponse:
            return await self._client.send(
                each,
                EndpointRequest(
                    method="PUT",
                    path=f"manifests/{reference}",
                    what=what,
                    actions=PUSH,
                    headers={"Content-Type": manifest.media_type},
                    body=manifest.content,
                ),
            )

        response = await self._retries.first([endpoint], put)
        response.release()
        stored = response.headers.get("Docker-Content-Digest", str(manifest.digest))
        if stored != str(manifest.digest):
            raise registry.DigestMismatch(f"{what}: stored as {stored[:140]}")

    async def _exists(self, endpoint: Endpoint, digest: Digest, what: str) -> bool:
        async def head(each: Endpoint) -> bool:
            path = f"blobs/{digest}"
            try:
                request = EndpointRequest(method="HEAD", path=path, what=what)
                response = await self._client.send(each, request)
            except registry.NotFound:
                return False
            response.release()
            return True

        return await self._retries.first([endpoint], head)

    async def _begin(self, endpoint: Endpoint, what: str) -> yarl.URL:
        response = await self._client.send(
            endpoint, EndpointRequest(method="POST", path="blobs/uploads/", what=what, actions=PUSH)
        )
        response.release()
        return _location(response, what)


def _location(response: aiohttp.ClientResponse, what: str) -> yarl.URL:
    return locations.target(response.url, response.headers.get("Location", ""), what=what)
