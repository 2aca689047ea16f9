"""Asks one endpoint for a manifest, what a tag names, or the tags, and checks the answer."""

import re

import aiohttp
import msgspec
import yarl

from lading.adapters.registry import limits as bounds
from lading.adapters.registry.conversation import Conversation, Question
from lading.adapters.registry.endpoints import Endpoint
from lading.kernel import digests, manifests
from lading.kernel.digests import Digest
from lading.kernel.errors import UNREADABLE, Malformed
from lading.kernel.manifests import Descriptor
from lading.kernel.references import Reference
from lading.ports import registry
from lading.ports.registry import Manifest

_ACCEPT = {"Accept": ", ".join(manifests.KNOWN_TYPES)}
_NEXT_PAGE = re.compile(r'<([^<>]{1,4096})>\s*;\s*rel="?next"?')


class _TagList(msgspec.Struct):
    tags: list[str] | None = None


class Reads:
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def manifest(self, endpoint: Endpoint, reference: Reference) -> Manifest:
        what = f"manifest {reference}"
        response = await self._conversation.ask(
            endpoint,
            Question(
                method="GET", path=f"manifests/{_wanted(reference)}", what=what, headers=_ACCEPT
            ),
        )
        async with response:
            content = await self._conversation.transport.read(
                response, bytes_max=manifests.MANIFEST_BYTES_MAX, what=what
            )
        digest = _verified(content, reference, response, what)
        try:
            media_type = manifests.media_type_of(content, response.content_type)
        except Malformed as error:
            raise registry.MalformedAnswer(f"{what}: {error.reason}") from error
        return Manifest(media_type=media_type, digest=digest, content=content)

    async def head(self, endpoint: Endpoint, reference: Reference) -> Descriptor:
        response = await self._conversation.ask(
            endpoint,
            Question(
                method="HEAD",
                path=f"manifests/{_wanted(reference)}",
                what=f"manifest {reference}",
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
        query: tuple[tuple[str, str], ...] = (("n", str(bounds.TAGS_PAGE_NAMES)),)
        while True:
            response = await self._conversation.ask(
                endpoint, Question(method="GET", path="tags/list", what=what, query=query)
            )
            async with response:
                body = await self._conversation.transport.read(
                    response, bytes_max=bounds.TAGS_PAGE_BYTES_MAX, what=what
                )
            page = _tag_list(body, what)
            found += page
            following = _next_query(response.headers.get("Link", ""))
            if following is None or not page:
                return tuple(found)
            if len(found) > self._conversation.transport.limits.tags_max:
                message = f"{what}: more than {self._conversation.transport.limits.tags_max} tags"
                raise registry.TooLarge(message)
            query = following


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
    """The digest that the content really has; what was asked for, and what was said, must agree."""
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
