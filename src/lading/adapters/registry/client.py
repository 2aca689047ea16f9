"""The `Registry` port on the network: what is asked, where, and what is believed of the answer.

Everything that comes back is checked: digest, size, form. Nothing is stored here.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import aiohttp

from lading.adapters.registry import downloads
from lading.adapters.registry.authorization import Authorization
from lading.adapters.registry.credentials import Anonymous, CredentialSource, ExplicitCredential
from lading.adapters.registry.downloads import Download
from lading.adapters.registry.endpoint_client import EndpointClient
from lading.adapters.registry.endpoints import DirectRouting, Endpoint, Routing, Use
from lading.adapters.registry.locations import RemoteResolver
from lading.adapters.registry.retries import ClientLimits, Retries
from lading.adapters.registry.transport import Sessions, Transport
from lading.adapters.registry.uploads import Uploads
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.clock import Clock
from lading.ports.registry import Credential, Manifest


@asynccontextmanager
async def connect(
    clock: Clock,
    *,
    routing: Routing = DirectRouting(),  # noqa: B008  a frozen value
    credentials: CredentialSource = Anonymous(),  # noqa: B008  without state
    limits: ClientLimits = ClientLimits(),  # noqa: B008  a frozen value
    environment: Mapping[str, str] = MappingProxyType({}),
    jitter: Callable[[], float] = random.random,
) -> AsyncIterator["RegistryClient"]:
    """A client until the context ends; `environment` may name proxies, as `os.environ` does."""
    async with _session(limits) as any_address, _session(limits, RemoteResolver()) as remote_only:
        sessions = Sessions(any_address=any_address, remote_only=remote_only)
        yield RegistryClient(
            Transport(sessions, clock, limits, environment),
            routing,
            credentials,
            Retries(clock, limits, jitter),
        )


def _session(
    limits: ClientLimits, resolver: aiohttp.abc.AbstractResolver | None = None
) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=limits.connections_max,
            limit_per_host=limits.connections_per_host_max,
            resolver=resolver,
        ),
        timeout=aiohttp.ClientTimeout(
            total=None, sock_connect=limits.connect_seconds_max, sock_read=limits.stall_seconds_max
        ),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        # Compressed for the way, a body would have other bytes than its digest and size speak of.
        headers={"User-Agent": "lading", "Accept-Encoding": "identity"},
    )


class RegistryClient:
    def __init__(
        self,
        transport: Transport,
        routing: Routing,
        credentials: CredentialSource,
        retries: Retries,
    ) -> None:
        self._transport = transport
        self._routing = routing
        self.retries = retries
        self.endpoint_client = EndpointClient(transport, Authorization(credentials, transport))
        self._uploads = Uploads(self.endpoint_client, retries)

    def with_credential(self, credential: Credential) -> "RegistryClient":
        return RegistryClient(
            self._transport, self._routing, ExplicitCredential(credential), self.retries
        )

    async def manifest(self, reference: Reference) -> Manifest:
        endpoints = self._endpoints(reference, _use_of(reference))
        return await self.retries.first(
            endpoints, lambda endpoint: self.endpoint_client.manifest(endpoint, reference)
        )

    async def head(self, reference: Reference) -> Descriptor | None:
        endpoints = self._endpoints(reference, _use_of(reference))
        try:
            return await self.retries.first(
                endpoints, lambda endpoint: self.endpoint_client.head(endpoint, reference)
            )
        except registry.NotFound:
            return None

    def blob(
        self, repository: Reference, descriptor: Descriptor, *, offset: int = 0
    ) -> AsyncGenerator[bytes, None]:
        what = f"blob {repository.name}@{descriptor.digest}"
        return downloads.pieces(
            Download(descriptor, offset=offset, what=what),
            endpoints=self._endpoints(repository, Use.PULL),
            client=self.endpoint_client,
            retries=self.retries,
        )

    async def tags(self, repository: Reference) -> tuple[str, ...]:
        endpoints = self._endpoints(repository, Use.RESOLVE)
        return await self.retries.first(endpoints, self.endpoint_client.tags)

    async def push_blob(
        self, repository: Reference, descriptor: Descriptor, content: AsyncIterable[bytes]
    ) -> None:
        endpoint = self.own_endpoint(repository)
        await self._uploads.blob(endpoint, descriptor, content)

    async def push_small_blob(
        self, repository: Reference, descriptor: Descriptor, content: bytes
    ) -> None:
        """Sent again when the registry is busy, which a stream cannot be."""
        endpoint = self.own_endpoint(repository)
        await self._uploads.small_blob(endpoint, descriptor, content)

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> Descriptor:
        endpoint = self.own_endpoint(reference)
        wanted = reference.tag or str(reference.digest or manifest.digest)
        await self._uploads.manifest(endpoint, wanted, manifest)
        return Descriptor(
            media_type=manifest.media_type,
            digest=manifest.digest,
            size_bytes=len(manifest.content),
        )

    def own_endpoint(self, reference: Reference) -> Endpoint:
        """The registry itself, without its mirrors."""
        return self._endpoints(reference, Use.PUSH)[0]

    def _endpoints(self, reference: Reference, use: Use) -> tuple[Endpoint, ...]:
        """Where to ask; mirrors are never pushed to."""
        usable = tuple(
            endpoint
            for endpoint in self._routing.endpoints(reference)
            if use in endpoint.uses and not (use is Use.PUSH and endpoint.is_mirror)
        )
        if not usable:
            raise registry.Blocked(f"{reference}: no configured endpoint may be used to {use}")
        return usable


def _use_of(reference: Reference) -> Use:
    return Use.PULL if reference.digest else Use.RESOLVE
