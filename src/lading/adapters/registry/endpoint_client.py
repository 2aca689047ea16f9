"""One endpoint of a registry: sends it authenticated requests, and checks what it answers.

Refusals become errors. Manifests, tags and descriptors are verified here; blobs are streamed by
`downloads`, and pushed by `uploads`.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterable, Mapping

import aiohttp
import msgspec
import yarl

from lading.adapters.registry import answers, locations
from lading.adapters.registry import retries as bounds
from lading.adapters.registry.authorization import Authorization
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.transport import RegistryCall, Transport
from lading.kernel import digests, manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.kernel.values import replace
from lading.ports import registry
from lading.ports.registry import Manifest

PULL = "pull"
PUSH = "pull,push"
_ACCEPT = {"Accept": ", ".join(manifests.KNOWN_TYPES)}
_NEXT_PAGE = re.compile(r'<([^<>]{1,4096})>\s*;\s*rel="?next"?')


class _TagList(msgspec.Struct):
    tags: list[str] | None = None


class EndpointRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask an endpoint.

    `path` is below the repository; with a slash at its start, below the host; or it is a URL that
    the registry gave.
    """

    method: str
    path: str | yarl.URL
    what: str
    actions: str = PULL
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes | AsyncIterable[bytes] | None = None
    scopes: frozenset[str] = frozenset()
    """The access to ask for where it is not `actions` on the endpoint's repository."""


class EndpointClient:
    def __init__(self, transport: Transport, authorization: Authorization) -> None:
        self.transport = transport
        self._authorization = authorization
        self._plain_http_urls: set[str] = set()

    async def send(self, endpoint: Endpoint, request: EndpointRequest) -> aiohttp.ClientResponse:
        """A successful answer; the caller releases it."""
        if not endpoint.may_be_plain_http:
            return await self._send(endpoint, request)
        if endpoint.url in self._plain_http_urls:
            return await self._send(endpoint.over_plain_http(), request)
        try:
            return await self._send(endpoint, request)
        except registry.Unavailable as error:
            if error.status:
                raise
        response = await self._send(endpoint.over_plain_http(), request)
        self._plain_http_urls.add(endpoint.url)
        return response

    async def _send(self, endpoint: Endpoint, request: EndpointRequest) -> aiohttp.ClientResponse:
        own = frozenset({f"repository:{endpoint.repository}:{request.actions}"})
        scopes = request.scopes or own
        sent = 0

        async def send(authorization: str) -> aiohttp.ClientResponse:
            nonlocal sent
            if sent and not isinstance(request.body, bytes | None):
                message = f"{request.what}: refused after the content was sent. Retry."
                raise registry.Unavailable(message)
            sent += 1
            return await self.transport.send(_call(endpoint, request, authorization))

        response = await self._authorization.send(endpoint, scopes, send)
        if response.ok:
            return response
        async with response:
            refusal = await self.transport.read_error(response, what=request.what)
            now = self.transport.clock.now()
            raise answers.error_from(response, refusal, what=request.what, now=now)

    async def manifest(self, endpoint: Endpoint, reference: Reference) -> Manifest:
        what = str(reference)
        response = await self.send(
            endpoint,
            EndpointRequest(
                method="GET", path=f"manifests/{_wanted(reference)}", what=what, headers=_ACCEPT
            ),
        )
        async with response:
            content = await self.transport.read(
                response, bytes_max=manifests.MANIFEST_BYTES_MAX, what=what
            )
        digest = _verified(content, reference, response, what)
        try:
            media_type = manifests.media_type_of(content, response.content_type)
        except Malformed as error:
            raise registry.MalformedAnswer(f"{what}: {error.reason}") from error
        return Manifest(media_type=media_type, digest=digest, content=content)

    async def head(self, endpoint: Endpoint, reference: Reference) -> Descriptor:
        response = await self.send(
            endpoint,
            EndpointRequest(
                method="HEAD",
                path=f"manifests/{_wanted(reference)}",
                what=str(reference),
                headers=_ACCEPT,
            ),
        )
        response.release()
        digest = reference.digest or _stated_digest(response)
        size = response.content_length
        if digest is not None and size is not None:
            return Descriptor(media_type=response.content_type, digest=digest, size_bytes=size)
        manifest = await self.manifest(endpoint, reference)
        return Descriptor(
            media_type=manifest.media_type,
            digest=manifest.digest,
            size_bytes=len(manifest.content),
        )

    async def tags(self, endpoint: Endpoint) -> tuple[str, ...]:
        what = f"tags of {endpoint.image}"
        found: list[str] = []
        request = EndpointRequest(
            method="GET",
            path="tags/list",
            what=what,
            query=(("n", str(bounds.TAGS_PAGE_NAMES)),),
        )
        tags_max = self.transport.limits.tags_max
        async for body in self.pages(endpoint, request):
            is_long = body.count(b",") > tags_max  # not worth decoding
            found += () if is_long else _tag_list(body, what)
            if is_long or len(found) > tags_max:
                raise registry.TooLarge(f"{what}: more than {tags_max} tags")
        return tuple(dict.fromkeys(found))

    async def pages(
        self, endpoint: Endpoint, request: EndpointRequest
    ) -> AsyncGenerator[bytes, None]:
        """The bodies of a list, to its last page; an empty page may have pages after it."""
        for _ in range(bounds.PAGES_MAX):
            response = await self.send(endpoint, request)
            async with response:
                yield await self.transport.read(
                    response, bytes_max=bounds.TAGS_PAGE_BYTES_MAX, what=request.what
                )
            following = _next_query(response.headers.get("Link", ""))
            if following is None:
                return
            if following == request.query:
                raise registry.TooLarge(f"{request.what}: a page names itself as the next page")
            request = replace(request, query=following)
        raise registry.TooLarge(f"{request.what}: more than {bounds.PAGES_MAX} pages")


def _call(endpoint: Endpoint, request: EndpointRequest, authorization: str) -> RegistryCall:
    """The request; what is secret is left out when the registry sent us to another origin."""
    url, is_ours = _url(endpoint, request.path)
    if query := (*endpoint.query, *request.query):
        url = url.extend_query(query)
    headers = dict(request.headers)
    if is_ours:
        headers |= endpoint.headers
        if authorization:
            headers["Authorization"] = authorization
    return RegistryCall(
        method=request.method,
        url=url,
        what=request.what,
        headers=headers,
        body=request.body,
        tls=endpoint.tls if is_ours else True,
        remote_only=locations.is_remote_only(yarl.URL(endpoint.url), url),
    )


def _url(endpoint: Endpoint, path: str | yarl.URL) -> tuple[yarl.URL, bool]:
    """The URL, and whether it is of the endpoint's own origin."""
    if isinstance(path, str):
        of_host = path.startswith("/")
        whole = f"{endpoint.server_address}{path}" if of_host else endpoint.resource(path)
        return yarl.URL(whole, encoded=True), True
    return path, locations.same_origin(path, yarl.URL(endpoint.url))


def _wanted(reference: Reference) -> str:
    if reference.digest is None and reference.tag is None:
        raise registry.RegistryError(f"{reference} has neither tag nor digest; name one")
    return str(reference.digest or reference.tag)


def _stated_digest(response: aiohttp.ClientResponse) -> Digest | None:
    try:
        return digests.parse(response.headers.get("Docker-Content-Digest", ""))
    except Malformed:
        return None


def _verified(
    content: bytes, reference: Reference, response: aiohttp.ClientResponse, what: str
) -> Digest:
    """The digest of the content; it must be the one asked for, and the one in the header."""
    stated = _stated_digest(response)
    for expected in {reference.digest, stated}:
        if expected is not None and not expected.matches(content):
            found = Digest.of(content, expected.algorithm)
            raise registry.DigestMismatch(f"{what}: expected {expected}, the content has {found}")
    return reference.digest or stated or Digest.of(content)


def _tag_list(body: bytes, what: str) -> list[str]:
    try:
        return msgspec.json.decode(body, type=_TagList).tags or []
    except UNREADABLE as error:
        raise registry.MalformedAnswer(f"{what}: not a list of tags") from error


def _next_query(link: str) -> tuple[tuple[str, str], ...] | None:
    """Only the query of the next page is taken from the registry, never where to go."""
    match = _NEXT_PAGE.search(link)
    if match is None:
        return None
    try:
        return tuple(yarl.URL(match[1], encoded=False).query.items())
    except ValueError:
        return None
