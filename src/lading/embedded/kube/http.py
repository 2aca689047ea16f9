"""Serves the core with aiohttp, over TLS, on loopback by default.

The body of a request is read only after its token was checked.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator

from aiohttp import web

from lading.embedded.kube import bodies
from lading.embedded.kube.certificates import Certificates
from lading.embedded.kube.core import Core
from lading.kernel.values import replace
from lading.ports.http import Request, Response

LOOPBACK = "127.0.0.1"
SHUTDOWN_SECONDS = 2.0
"""The time that open connections have to end when the server stops."""


@contextlib.asynccontextmanager
async def serve(
    core: Core, host: str = LOOPBACK, tls: Certificates | None = None
) -> AsyncIterator[str]:
    """Serves until the context ends, and yields the URL with a free port."""
    app = web.Application(client_max_size=bodies.BODY_BYTES_MAX)
    app.router.add_route("*", "/{path:.*}", _handler(core))
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS,
        auto_decompress=False,  # as in kube-apiserver
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0, ssl_context=_context(tls) if tls else None)
        await site.start()
        bound = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{shown}:{bound}"
    finally:
        await runner.cleanup()


def _context(tls: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key)
    return context


def _handler(core: Core):  # type: ignore[no-untyped-def]
    async def handle(request: web.Request) -> web.StreamResponse:
        head = _head(request)
        try:
            response = core.refusal(head) or await core(replace(head, body=await _body(request)))
        except ConnectionError:
            return web.Response(status=400)  # the client went away; the answer is not read
        if isinstance(response.body, bytes):
            return web.Response(
                status=response.status, headers=response.headers, body=response.body
            )
        return await _stream(request, response, response.body)

    return handle


def _head(request: web.Request) -> Request:
    return Request(
        method=request.method,
        path=request.path,
        query=tuple(request.query.items()),
        headers={key.lower(): ", ".join(request.headers.getall(key)) for key in request.headers},
    )


async def _body(request: web.Request) -> bytes:
    """A body that is too large is cut one byte over the limit, so that the core refuses it."""
    if not request.can_read_body:
        return b""
    collected = bytearray()
    async for chunk in request.content.iter_any():
        collected += chunk
        if len(collected) > bodies.BODY_BYTES_MAX:
            break
    return bytes(collected[: bodies.BODY_BYTES_MAX + 1])


async def _stream(
    request: web.Request, response: Response, lines: AsyncIterator[bytes]
) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.status, headers=response.headers)
    answer.enable_chunked_encoding()
    try:
        await answer.prepare(request)
        async for line in lines:
            await answer.write(line)
        await answer.write_eof()
    except ConnectionError:
        pass  # the client went away; that is how most watches end
    finally:
        await lines.aclose()  # type: ignore[attr-defined]
    return answer
