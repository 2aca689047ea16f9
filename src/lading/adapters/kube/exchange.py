"""The exchange that goes over the network: proves who we are, and sends by the transport.

A 401 makes the credentials fresh once. Retrying is not done here.
"""

import os
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lading.adapters import proxies
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Credentials
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

if TYPE_CHECKING:
    from lading.adapters.kube.transport import KubeTransport

WATCH_IDLE_SECONDS_MAX = 150.0
"""An API server sends a bookmark about once a minute."""
_UNAUTHORIZED = 401


class NetworkExchange:
    """Owns the connections to one server; use it as an async context manager."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        watch_idle_seconds: float = WATCH_IDLE_SECONDS_MAX,
    ) -> None:
        self._connection = connection
        self._credentials = Credentials(connection.user, clock)
        self._watch_idle_seconds = watch_idle_seconds
        self._proxy = (
            proxies.parse(connection.proxy_url, name="proxy-url")
            if connection.proxy_url
            else proxies.proxy_for(connection.server, os.environ)
        )
        self._transport: KubeTransport | None = None

    async def __aenter__(self) -> Self:
        from lading.adapters.kube.transport import KubeTransport  # slow to load, unlike --help

        self._transport = KubeTransport(
            self._connection, self._proxy, watch_idle_seconds=self._watch_idle_seconds
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._transport is not None, "the exchange was entered"
        await self._transport.close()

    async def __call__(self, request: Request) -> Response:
        assert self._transport is not None, "use `async with` before sending"
        proof = await self._credentials.proof()
        response = await self._transport.send(request, proof)
        if response.status == _UNAUTHORIZED and self._credentials.can_be_refreshed:
            self._credentials.forget(proof)
            response = await self._transport.send(request, await self._credentials.proof())
        return response
