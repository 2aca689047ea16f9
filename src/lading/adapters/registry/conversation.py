"""Asks one endpoint for one resource, authenticated; refusals become errors."""

from collections.abc import AsyncIterable, Mapping

import aiohttp
import yarl

from lading.adapters.registry import answers
from lading.adapters.registry.authorization import Authorization
from lading.adapters.registry.endpoints import Endpoint
from lading.adapters.registry.transport import Call, Transport

PULL = "pull"
PUSH = "pull,push"


class Conversation:
    def __init__(self, transport: Transport, authorization: Authorization) -> None:
        self.transport = transport
        self._authorization = authorization

    async def ask(
        self,
        endpoint: Endpoint,
        method: str,
        path: str | yarl.URL,
        *,
        what: str,
        actions: str = PULL,
        also_scopes: frozenset[str] = frozenset(),
        query: tuple[tuple[str, str], ...] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | AsyncIterable[bytes] | None = None,
    ) -> aiohttp.ClientResponse:
        """A successful answer; `path` is below the repository, or a URL that the registry gave."""
        url = _url(endpoint, path).extend_query((*endpoint.query, *query))
        scopes = also_scopes | {f"repository:{endpoint.repository}:{actions}"}
        ours = url.origin() == yarl.URL(endpoint.url).origin()

        async def send(authorization: str) -> aiohttp.ClientResponse:
            sent = {**endpoint.headers, **(headers or {})} if ours else dict(headers or {})
            if authorization and ours:
                sent["Authorization"] = authorization
            tls = endpoint.tls if ours else True
            call = Call(method=method, url=url, what=what, headers=sent, body=body, tls=tls)
            return await self.transport.send(call)

        response = await self._authorization.send(endpoint, scopes, send)
        if response.ok:
            return response
        async with response:
            refusal = await self.transport.read_error(response, what=what)
            now = self.transport.clock.now()
            raise answers.error_from(response, refusal, what=what, now=now)


def _url(endpoint: Endpoint, path: str | yarl.URL) -> yarl.URL:
    if isinstance(path, yarl.URL):
        return path
    return yarl.URL(endpoint.resource(path), encoded=True)
