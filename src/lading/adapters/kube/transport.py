"""The connection to one API server over the network, on aiohttp.

`NetworkTransport` authenticates and sends each request. After a 401 it reads the credentials again,
once. It does not retry other errors.
"""

import contextlib
import io
import os
import platform
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import lading
from lading.adapters import connecting, proxies
from lading.adapters.kube import errors, retry
from lading.adapters.kube.connection import Certificate, ConfigurationError, Connection, Trust
from lading.adapters.kube.credentials import Credentials, Proof
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 10.0
REQUEST_SECONDS_MAX = 70.0
"""An API server ends a request after 60 s with an error; we wait for that answer."""
USER_AGENT = f"lading/{lading.__version__} ({platform.system().lower()}/{platform.machine()})"
WATCH_IDLE_SECONDS_MAX = 150.0
"""An API server sends a bookmark about once a minute."""
LARGE_BODY_BYTES = 1024 * 1024
"""A larger body is written in pieces, so that it does not block the event loop."""
_OK = 200
_UNAUTHORIZED = 401


class NetworkTransport:
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
        self._base = URL(connection.server)
        self._contexts = Contexts(connection.trust)
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
            headers={"user-agent": USER_AGENT, "accept": "application/json"},
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._session is not None, "the transport was entered"
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
                body = await _body(response, request, self._connection.server)
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
    """The body of a watch; closing it releases the connection, even before the first read."""

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


async def _body(response: aiohttp.ClientResponse, request: Request, server: str) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > request.answer_bytes_max:
            response.close()
            what = _described(request, server)
            raise kube.TooLarge(
                f"{what}: the answer has more than {request.answer_bytes_max} bytes"
            )
    return bytes(body)


def _is_watch(request: Request) -> bool:
    return ("watch", "true") in request.query


def _described(request: Request, server: str) -> str:
    return f"{request.method} {request.path} at {server}"


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if len(body) > LARGE_BODY_BYTES else body or None


@contextlib.contextmanager
def _translated(request: Request, server: str) -> Iterator[None]:
    what = _described(request, server)
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise errors.untrusted(what, error.certificate_error) from error
    except aiohttp.ClientConnectorError as error:
        raise retry.not_reached(f"{error.host}:{error.port}", connecting.reason(error)) from error
    except TimeoutError as error:
        raise kube.Unavailable(f"{what}: the server did not answer in time") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:  # the last for a broken header
        reason = f"{type(error).__name__}: {connecting.reason(error)}"
        raise kube.Unavailable(f"{what}: {reason}") from error


class Contexts:
    """The contexts of one server; the last one is kept, since a certificate changes rarely."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._certificate: Certificate | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, certificate: Certificate | None) -> ssl.SSLContext:
        if self._context is None or certificate != self._certificate:
            self._context = _context(self._trust, certificate)
            self._certificate = certificate
        return self._context


def _context(trust: Trust, certificate: Certificate | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=trust.authority_pem or None)
    except ssl.SSLError as error:
        problem = "the certificate authority is not a PEM certificate"
        raise ConfigurationError(f"{problem}: {error.reason}") from error
    # Cluster authorities made by hand often lack extensions that Python 3.13 began to insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load(context, certificate)
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".pem") as file:
        file.write(f"{certificate.certificate_pem}\n{certificate.key_pem}\n")
        file.flush()
        try:
            context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            problem = "the client certificate and its key are not a matching pair in PEM form"
            raise ConfigurationError(f"{problem}: {error.reason or error}") from error
