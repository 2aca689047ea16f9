"""Asks one endpoint for one resource, authenticated; refusals become errors."""

from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field

import aiohttp
import yarl

from lading.adapters.registry import answers
from lading.adapters.registry.authorization import Authorization
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.transport import Call, Transport
from lading.ports import registry

PULL = "pull"
PUSH = "pull,push"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask an endpoint; `path` is below the repository, or a URL that the registry gave."""

    method: str
    path: str | yarl.URL
    what: str
    actions: str = PULL
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterable[bytes] | None = None


class Conversation:
    def __init__(self, transport: Transport, authorization: Authorization) -> None:
        self.transport = transport
        self._authorization = authorization
        self._plain_http_urls: set[str] = set()

    async def ask(self, endpoint: Endpoint, question: Question) -> aiohttp.ClientResponse:
        """A successful answer; whoever takes it releases it."""
        if not endpoint.may_be_plain_http:
            return await self._ask(endpoint, question)
        if endpoint.url in self._plain_http_urls:
            return await self._ask(endpoint.over_plain_http(), question)
        try:
            return await self._ask(endpoint, question)
        except registry.Unavailable as error:
            if error.status:
                raise
        response = await self._ask(endpoint.over_plain_http(), question)
        self._plain_http_urls.add(endpoint.url)
        return response

    async def _ask(self, endpoint: Endpoint, question: Question) -> aiohttp.ClientResponse:
        scopes = frozenset({f"repository:{endpoint.repository}:{question.actions}"})
        sent = 0

        async def send(authorization: str) -> aiohttp.ClientResponse:
            nonlocal sent
            if sent and not isinstance(question.body, bytes | None):
                message = f"{question.what}: refused when the content was sent; begin again"
                raise registry.Unavailable(message)
            sent += 1
            return await self.transport.send(_call(endpoint, question, authorization))

        response = await self._authorization.send(endpoint, scopes, send)
        if response.ok:
            return response
        async with response:
            refusal = await self.transport.read_error(response, what=question.what)
            now = self.transport.clock.now()
            raise answers.error_from(response, refusal, what=question.what, now=now)


def _call(endpoint: Endpoint, question: Question, authorization: str) -> Call:
    """The request; what is secret is left out when the registry sent us to another origin."""
    url, is_ours = _url(endpoint, question.path)
    if query := (*endpoint.query, *question.query):
        url = url.extend_query(query)
    headers = dict(question.headers)
    if is_ours:
        headers |= endpoint.headers
        if authorization:
            headers["Authorization"] = authorization
    return Call(
        method=question.method,
        url=url,
        what=question.what,
        headers=headers,
        body=question.body,
        tls=endpoint.tls if is_ours else True,
    )


def _url(endpoint: Endpoint, path: str | yarl.URL) -> tuple[yarl.URL, bool]:
    """The URL, and whether it is of the endpoint's own origin."""
    if isinstance(path, str):
        return yarl.URL(endpoint.resource(path), encoded=True), True
    return path, path.origin() == yarl.URL(endpoint.url).origin()
