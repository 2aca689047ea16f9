"""Requests over aiohttp: one pool of connections, TLS, a proxy, time limits, gzip.

A watch is streamed and has an idle time-out instead of a total one, so that a connection that
died without a word is noticed. aiohttp itself repeats a GET or DELETE once when a kept connection
turns out to be dead, and takes at most 128 headers of 8 KiB. A body is counted while it is read,
after decompression.
"""

import contextlib
import io
import platform
from collections.abc import AsyncIterator, Iterator

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import lading
from lading.adapters import connecting
from lading.adapters.kube import errors, retry, tls
from lading.adapters.kube.connection import Connection
from lading.adapters.kube.credentials import Proof
from lading.adapters.proxies import Proxy
from lading.ports import kube
from lading.ports.http import Request, Response

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 10.0
REQUEST_SECONDS_MAX = 70.0
"""An API server ends a request after 60 s with an error; we wait for that answer."""
USER_AGENT = f"lading/{lading.__version__} ({platform.system().lower()}/{platform.machine()})"
LARGE_BODY_BYTES = 1024 * 1024
"""aiohttp wants more than this written piece by piece, so that the event loop is not held up."""
_OK = 200


class KubeTransport:
    def __init__(
        self, connection: Connection, proxy: Proxy | None, *, watch_idle_seconds: float
    ) -> None:
        self._connection = connection
        self._base = URL(connection.server)
        self._contexts = tls.Contexts(connection.trust)
        self._proxy = proxy
        self._watch_timeout = aiohttp.ClientTimeout(
            sock_connect=CONNECT_SECONDS_MAX, sock_read=watch_idle_seconds
        )
        self._timeout = aiohttp.ClientTimeout(
            total=REQUEST_SECONDS_MAX, sock_connect=CONNECT_SECONDS_MAX
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"user-agent": USER_AGENT, "accept": "application/json"},
        )

    async def close(self) -> None:
        await self._session.close()

    async def send(self, request: Request, proof: Proof) -> Response:
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
