"""The exchange that goes over the network, with aiohttp: TLS, credentials, time limits, gzip.

A watch is streamed and has an idle time-out instead of a total one, so that a connection that
died without a word is noticed. A 401 makes the credentials fresh once. Retrying is not done here,
except that aiohttp itself repeats a GET or DELETE once when a kept connection turns out to be dead.
"""

import contextlib
import io
import os
import platform
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import lading
from lading.adapters import connecting, proxies
from lading.adapters.kube import errors, retry, tls
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Credentials, Proof
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 10.0
REQUEST_SECONDS_MAX = 70.0
"""An API server ends a request after 60 s with an error; we wait for that answer."""
WATCH_IDLE_SECONDS_MAX = 150.0
"""An API server sends a bookmark about once a minute."""
LARGE_BODY_BYTES = 1024 * 1024
"""aiohttp wants more than this written piece by piece, so that the event loop is not held up."""
USER_AGENT = f"lading/{lading.__version__} ({platform.system().lower()}/{platform.machine()})"
_UNAUTHORIZED = 401
_OK = 200


class NetworkExchange:
    """Owns one connection pool to one server; use it as an async context manager."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        watch_idle_seconds: float = WATCH_IDLE_SECONDS_MAX,
    ) -> None:
        self._connection = connection
        self._base = URL(connection.server)
        self._credentials = Credentials(connection.user, clock)
        self._contexts = tls.Contexts(connection.trust)
        self._proxy = (
            proxies.parse(connection.proxy_url, name="proxy-url")
            if connection.proxy_url
            else proxies.proxy_for(connection.server, os.environ)
        )
        self._watch_timeout = aiohttp.ClientTimeout(
            sock_connect=CONNECT_SECONDS_MAX, sock_read=watch_idle_seconds
        )
        self._timeout = aiohttp.ClientTimeout(
            total=REQUEST_SECONDS_MAX, sock_connect=CONNECT_SECONDS_MAX
        )
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._session is not None, "the exchange was entered"
        await self._session.close()

    async def __call__(self, request: Request) -> Response:
        proof = await self._credentials.proof()
        response = await self._send(request, proof)
        if response.status == _UNAUTHORIZED and self._credentials.can_be_refreshed:
            self._credentials.forget(proof)
            response = await self._send(request, await self._credentials.proof())
        return response

    async def _send(self, request: Request, proof: Proof) -> Response:
        with _translated(request, self._connection.server):
            response = await self._start(request, proof)
            headers = {name.lower(): value for name, value in response.headers.items()}
            if "warning" in headers:
                headers["warning"] = ", ".join(response.headers.getall("warning"))
            if response.status == _OK and _is_watch(request):
                stream = _Stream(response, request, self._connection.server)
                return Response(status=response.status, headers=headers, body=stream)
            async with response:
                body = await response.read()
        return Response(status=response.status, headers=headers, body=body)

    async def _start(self, request: Request, proof: Proof) -> aiohttp.ClientResponse:
        assert self._session is not None, "use `async with` before sending"
        headers = CIMultiDict(request.headers)
        if not self._connection.compression:
            headers["accept-encoding"] = "identity"
        headers.extend(proof.headers)
        return await self._session.request(
            request.method,
            self._url(request),
            headers=headers,
            data=_payload(request.body),
            ssl=self._contexts.context(proof.certificate),
            server_hostname=self._connection.trust.server_name or None,
            proxy=self._proxy.url if self._proxy else None,
            proxy_headers=self._proxy.headers if self._proxy else None,
            timeout=self._watch_timeout if _is_watch(request) else self._timeout,
            allow_redirects=False,
        )

    def _url(self, request: Request) -> URL:
        path = f"{self._base.path.rstrip('/')}{request.path}"
        return self._base.with_path(path).with_query(request.query)


class _Stream:
    """The body of a watch; gives its connection up when it is closed, also if never begun."""

    def __init__(self, response: aiohttp.ClientResponse, request: Request, server: str) -> None:
        self._response = response
        self._chunks = response.content.iter_any()
        self._request = request
        self._server = server

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        with _translated(self._request, self._server):
            return await anext(self._chunks)

    async def aclose(self) -> None:
        self._response.close()


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if len(body) > LARGE_BODY_BYTES else body or None


def _is_watch(request: Request) -> bool:
    return ("watch", "true") in request.query


@contextlib.contextmanager
def _translated(request: Request, server: str) -> Iterator[None]:
    what = f"{request.method} {request.path} at {server}"
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        reason = f"the server certificate is not trusted: {error.certificate_error}"
        raise errors.UntrustedCertificate(f"{what}: {reason}") from error
    except aiohttp.ClientConnectorError as error:
        reason = connecting.reason(error)
        address = f"{error.host}:{error.port}"
        message = f"Cannot connect to {address}: {reason[:1].lower()}{reason[1:]}"
        raise retry.NotReached(message) from error
    except TimeoutError as error:
        raise kube.Unavailable(f"{what}: the server did not answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        reason = f"{type(error).__name__}: {connecting.reason(error)}"
        raise kube.Unavailable(f"{what}: {reason}") from error
