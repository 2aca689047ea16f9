"""The `RegistryAdministration` port on the network: lists, tolerant reads, mounts and deletions.

Built on the same endpoint client as all other reads, without mirrors. A deletion is
sent again when its answer was lost, so "not there" is an answer and not an error.
"""

import email.utils
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TypeVar

import aiohttp
import msgspec

from lading.adapters.registry import locations
from lading.adapters.registry import retries as bounds
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.endpoint_client import PUSH, EndpointRequest
from lading.adapters.registry.endpoints import Endpoint
from lading.kernel import digests, manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Manifest

T = TypeVar("T")
DELETE = "pull,push,delete"
REPOSITORIES_MAX = 1_000_000
_CREATED = 201
_ANY_FORM = ", ".join(
    (
        *manifests.KNOWN_TYPES,
        "application/vnd.oci.artifact.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
        "application/vnd.docker.distribution.manifest.v1+json",
        "*/*;q=0.1",
    )
)


class _Catalogue(msgspec.Struct):
    repositories: list[str] | None = None


class _Referrer(msgspec.Struct, rename="camel"):
    digest: str
    size: int = 0
    media_type: str = ""
    artifact_type: str = ""


class _Referrers(msgspec.Struct):
    manifests: list[_Referrer] | None = None


class AdministrationClient:
    def __init__(self, client: RegistryClient) -> None:
        self._client = client

    async def server_time(self, registry_name: str) -> datetime | None:
        somewhere = _any_repository(registry_name)
        request = EndpointRequest(method="GET", path="/v2/", what=f"time of {registry_name}")
        response = await self._send(somewhere, request)
        response.release()
        return _date(response)

    async def catalogue(self, registry_name: str) -> tuple[str, ...]:
        what = f"catalogue of {registry_name}"
        endpoint = self._client.own_endpoint(_any_repository(registry_name))
        request = EndpointRequest(
            method="GET",
            path="/v2/_catalog",
            what=what,
            query=(("n", str(bounds.TAGS_PAGE_NAMES)),),
            scopes=frozenset({"registry:catalog:*"}),
        )

        async def listed(each: Endpoint) -> tuple[str, ...]:
            found: dict[str, None] = {}
            async with aclosing(self._client.endpoint_client.pages(each, request)) as pages:
                async for body in pages:
                    names = _decoded(body, _Catalogue, what).repositories or ()
                    found |= dict.fromkeys(names)
                    if len(found) > REPOSITORIES_MAX:
                        raise registry.TooLarge(f"{what}: more than {REPOSITORIES_MAX}")
            return tuple(found)

        return await self._client.retries.first([endpoint], listed)

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        endpoint = self._client.own_endpoint(repository)
        try:
            return await self._client.retries.first([endpoint], self._client.endpoint_client.tags)
        except registry.NotFound:
            return ()

    async def head(self, reference: Reference) -> Descriptor | None:
        request = EndpointRequest(
            method="HEAD",
            path=_manifest_path(reference),
            what=f"manifest {reference}",
            headers={"Accept": _ANY_FORM},
        )
        try:
            response = await self._send(reference, request)
        except registry.NotFound:
            return None
        response.release()
        digest = reference.digest or _stated_digest(response)
        if digest is None:
            digest = (await self.manifest(reference)).digest
        return Descriptor(
            media_type=response.content_type,
            digest=digest,
            size_bytes=response.content_length or 0,
        )

    async def manifest(self, reference: Reference) -> Manifest:
        content, response = await self._manifest(reference)
        digest = reference.digest or Digest.of(content)
        return _verified(reference, digest, content, response)

    async def tagged_manifest(self, reference: Reference) -> Manifest:
        content, response = await self._manifest(reference)
        digest = _stated_digest(response)
        if digest is None:
            raise registry.MalformedAnswer(f"manifest {reference}: the answer states no digest")
        return _verified(reference, digest, content, response)

    async def _manifest(self, reference: Reference) -> tuple[bytes, aiohttp.ClientResponse]:
        request = EndpointRequest(
            method="GET",
            path=_manifest_path(reference),
            what=f"manifest {reference}",
            headers={"Accept": _ANY_FORM},
        )
        return await self._read(reference, request, manifests.MANIFEST_BYTES_MAX)

    async def referrers(self, reference: Reference) -> tuple[Descriptor, ...] | None:
        what = f"referrers of {reference}"
        endpoint = self._client.own_endpoint(reference)
        request = EndpointRequest(method="GET", path=f"referrers/{reference.digest}", what=what)

        async def listed(each: Endpoint) -> tuple[Descriptor, ...]:
            found: list[_Referrer] = []
            async with aclosing(self._client.endpoint_client.pages(each, request)) as pages:
                async for body in pages:
                    found += _decoded(body, _Referrers, what).manifests or ()
            return tuple(_descriptor(one, what) for one in found)

        try:
            return await self._client.retries.first([endpoint], listed)
        except (registry.NotFound, registry.Unsupported):
            return None

    async def blob(self, repository: Reference, digest: Digest, *, bytes_max: int) -> bytes:
        what = f"blob {repository.name}@{digest}"
        request = EndpointRequest(method="GET", path=f"blobs/{digest}", what=what)
        content, _ = await self._read(repository, request, bytes_max)
        if not digest.matches(content):
            raise registry.DigestMismatch(f"{what}: the content has {Digest.of(content)}")
        return content

    async def has_blob(self, repository: Reference, digest: Digest) -> bool:
        what = f"blob {repository.name}@{digest}"
        request = EndpointRequest(method="HEAD", path=f"blobs/{digest}", what=what)
        try:
            response = await self._send(repository, request)
        except registry.NotFound:
            return False
        response.release()
        return True

    async def push_blob(self, repository: Reference, content: bytes) -> Descriptor:
        descriptor = Descriptor(
            media_type="application/octet-stream",
            digest=Digest.of(content),
            size_bytes=len(content),
        )
        await self._client.push_small_blob(repository, descriptor, content)
        return descriptor

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        await self._client.push_manifest(reference, manifest)

    async def mount_blob(self, target: Reference, digest: Digest, *, source: Reference) -> bool:
        endpoint = self._client.own_endpoint(target)
        request = EndpointRequest(
            method="POST",
            path="blobs/uploads/",
            what=f"mount of {digest} into {target.name}",
            query=(("mount", str(digest)), ("from", source.repository)),
            scopes=frozenset(
                {f"repository:{target.repository}:{PUSH}", f"repository:{source.repository}:pull"}
            ),
        )
        response = await self._send(target, request)
        response.release()
        if response.status == _CREATED:
            return True
        await self._cancel(endpoint, response)
        return False

    async def copy_blob(
        self, target: Reference, descriptor: Descriptor, *, source: Reference
    ) -> None:
        async with aclosing(self._client.blob(source, descriptor)) as pieces:
            await self._client.push_blob(target, descriptor, pieces)

    async def delete(self, reference: Reference) -> bool:
        what = f"deletion of {reference}"
        path = _manifest_path(reference)
        return await self._deleted(
            reference, EndpointRequest(method="DELETE", path=path, what=what, actions=DELETE)
        )

    async def delete_blob(self, repository: Reference, digest: Digest) -> bool:
        what = f"deletion of layer link {digest} in {repository.name}"
        return await self._deleted(
            repository,
            EndpointRequest(method="DELETE", path=f"blobs/{digest}", what=what, actions=DELETE),
        )

    async def delete_blob_everywhere(self, registry_name: str, digest: Digest) -> bool:
        somewhere = _any_repository(registry_name)
        request = EndpointRequest(
            method="DELETE",
            path=f"/admin/blobs/{digest}",
            what=f"deletion of blob {digest}",
            scopes=frozenset({"admin:prune:*"}),
        )
        return await self._deleted(somewhere, request)

    async def _deleted(self, reference: Reference, request: EndpointRequest) -> bool:
        try:
            response = await self._send(reference, request)
        except registry.NotFound:
            return False
        response.release()
        return True

    async def _cancel(self, endpoint: Endpoint, response: aiohttp.ClientResponse) -> None:
        """An upload that was opened instead of a mount would stay for days."""
        what = f"cancellation of an upload to {endpoint.image}"
        try:
            location = locations.target(
                response.url, response.headers.get("Location", ""), what=what
            )
            request = EndpointRequest(method="DELETE", path=location, what=what, actions=PUSH)
            (await self._client.endpoint_client.send(endpoint, request)).release()
        except registry.RegistryError:
            return  # the registry removes it by itself after its own time

    async def _send(self, reference: Reference, request: EndpointRequest) -> aiohttp.ClientResponse:
        async def ask(each: Endpoint) -> aiohttp.ClientResponse:
            return await self._client.endpoint_client.send(each, request)

        return await self._client.retries.first([self._client.own_endpoint(reference)], ask)

    async def _read(
        self, reference: Reference, request: EndpointRequest, bytes_max: int
    ) -> tuple[bytes, aiohttp.ClientResponse]:
        client = self._client.endpoint_client

        async def ask(each: Endpoint) -> tuple[bytes, aiohttp.ClientResponse]:
            response = await client.send(each, request)
            async with response:
                content = await client.transport.read(
                    response, bytes_max=bytes_max, what=request.what
                )
            return content, response

        return await self._client.retries.first([self._client.own_endpoint(reference)], ask)


def _any_repository(registry_name: str) -> Reference:
    """A reference for requests that are about the registry and not about a repository."""
    return Reference(registry=registry_name, repository="any")


def _manifest_path(reference: Reference) -> str:
    if reference.digest is None and reference.tag is None:
        raise registry.RegistryError(f"{reference} has neither tag nor digest; name one")
    return f"manifests/{reference.digest or reference.tag}"


def _verified(
    reference: Reference, digest: Digest, content: bytes, response: aiohttp.ClientResponse
) -> Manifest:
    if not digest.matches(content):
        found = Digest.of(content, digest.algorithm)
        raise registry.DigestMismatch(
            f"manifest {reference}: expected {digest}, the content has {found}"
        )
    return Manifest(media_type=response.content_type, digest=digest, content=content)


def _stated_digest(response: aiohttp.ClientResponse) -> Digest | None:
    """What a tag names, as the registry states it."""
    try:
        return digests.parse(response.headers.get("Docker-Content-Digest", ""))
    except Malformed:
        return None


def _date(response: aiohttp.ClientResponse) -> datetime | None:
    try:
        found = email.utils.parsedate_to_datetime(response.headers.get("Date", ""))
    except (ValueError, TypeError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _decoded(body: bytes, type_: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except UNREADABLE as error:
        raise registry.MalformedAnswer(f"{what}: not a list") from error


def _descriptor(found: _Referrer, what: str) -> Descriptor:
    try:
        digest = digests.parse(found.digest)
    except Malformed as error:
        raise registry.MalformedAnswer(f"{what}: {error.reason}") from error
    return Descriptor(
        media_type=found.media_type,
        digest=digest,
        size_bytes=found.size,
        artifact_type=found.artifact_type,
    )
