"""Servers with secrets of known text: a registry with a token server, its storage, and a proxy.

Blobs are fetched from signed URLs on the storage. Each server refuses some of what it is asked,
with an answer that repeats the secret which it received, as real ones do.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from lading.embedded.registry import server as registry_server
from lading.embedded.registry.access import Passwords
from lading.embedded.registry.core import RegistryCore
from lading.embedded.registry.faults import Code, Fault

USER = "carol"
PASSWORD = "canary-pull-secret-4711"
BEARER = "canary-bearer-token-4711"
SIGNATURE = "canary-signed-url-4711"
PROXY_PASSWORD = "canary-proxy-password-4711"
SECRETS = (PASSWORD, BEARER, SIGNATURE, PROXY_PASSWORD)
USER_DATA = "canary-user-data-4711"
"""In the stub of a machine set; no form of text gives it away."""
STORAGE_REFUSES = "storage-refuses"
REGISTRY_REFUSES = "registry-refuses"
TOKENS_REFUSED = "tokens-refused"
"""Repositories, by the server that refuses them."""


def every_form(secret: str) -> list[str]:
    """The secret as it is, and inside a longer text in base64, wherever it begins there."""
    encoded = (base64.b64encode(b"." * skipped + secret.encode()).decode() for skipped in range(3))
    return [secret, *(text[4:-4] for text in encoded)]


def _basic(user: str, secret: str) -> str:
    return base64.b64encode(f"{user}:{secret}".encode()).decode()


def leaks(text: str) -> set[str]:
    """The secrets that can be read in a text, in any form."""
    planted = (*SECRETS, USER_DATA)
    return {secret for secret in planted if any(form in text for form in every_form(secret))}


@dataclass
class Seen:
    """Which secrets reached the servers that they are meant for."""

    passwords: int = 0
    bearers: int = 0
    signatures: int = 0
    proxy_passwords: int = 0

    def everything(self) -> bool:
        return all((self.passwords, self.bearers, self.signatures, self.proxy_passwords))


@dataclass(frozen=True)
class CanaryTokens:
    """The one token that the token server gives to the one user."""

    seen: Seen
    passwords: Passwords = field(default_factory=lambda: Passwords({USER: PASSWORD}))

    def check(self, request: web.Request, scope: str) -> None:
        if request.path == "/token":
            return
        header = request.headers.get("Authorization")
        if header == f"Bearer {BEARER}":
            self.seen.bearers += 1
            if REGISTRY_REFUSES in request.path:
                raise Fault(Code.DENIED, f"not allowed with Authorization: {header}")
            return
        challenge = f'Bearer realm="http://{request.host}/token",service="canary",scope="{scope}"'
        headers = {"WWW-Authenticate": challenge}
        raise Fault(Code.UNAUTHORIZED, "authentication required", headers=headers)

    async def issue(self, request: web.Request) -> web.Response:
        if not self.passwords.accepts(request.headers.get("Authorization", "")):
            return web.Response(status=401)
        self.seen.passwords += 1
        if TOKENS_REFUSED in request.query_string:
            header = request.headers["Authorization"]
            return web.Response(status=403, text=f"not allowed with Authorization: {header}")
        return web.json_response({"token": BEARER, "access_token": BEARER, "expires_in": 300})


@contextlib.asynccontextmanager
async def registry(folder: Path, seen: Seen) -> AsyncIterator[str]:
    """Gives the host of a registry with its blobs behind signed URLs."""
    core = RegistryCore.on(folder)
    async with _serving(_storage(core, seen)) as storage_host:

        @web.middleware
        async def redirect(
            request: web.Request, handler: registry_server.Handler
        ) -> web.StreamResponse:
            if request.method == "GET" and "/blobs/sha256:" in request.path:
                path = f"{request.match_info['name']}/{request.match_info['digest']}"
                query = f"X-Amz-Signature={SIGNATURE}&verify=1700000000-{SIGNATURE}"
                location = f"http://{storage_host}/{path}?{query}"
                return web.Response(status=307, headers={"Location": location})
            return await handler(request)

        tokens = CanaryTokens(seen)
        app = registry_server.make_app(core, tokens)
        app.add_routes([web.get("/token", tokens.issue), web.post("/token", tokens.issue)])
        app.middlewares.append(redirect)
        async with _serving(app) as host:
            yield host


def _storage(core: RegistryCore, seen: Seen) -> web.Application:
    async def blob(request: web.Request) -> web.StreamResponse:
        if request.query.get("X-Amz-Signature") != SIGNATURE:
            return web.Response(status=403)
        seen.signatures += 1
        name, digest = request.match_info["name"], request.match_info["digest"]
        if STORAGE_REFUSES in name:
            return web.Response(status=403, text=f"expired: ?{request.query_string}")
        algorithm, _, encoded = digest.partition(":")
        shard = core.layout.base / "blobs" / algorithm / encoded[:2] / encoded / "data"
        return web.FileResponse(shard)

    app = web.Application()
    app.router.add_get("/{name:.+}/{digest}", blob)
    return app


@contextlib.asynccontextmanager
async def _serving(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def proxy(seen: Seen) -> AsyncIterator[str]:
    """Gives the URL, with a password, of a proxy that refuses everything and names itself."""
    url = ""
    expected = f"Proxy-Authorization: Basic {_basic('proxy-user', PROXY_PASSWORD)}"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            seen.proxy_passwords += expected.encode() in head
            writer.write(f"HTTP/1.1 502 {url} failed\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://proxy-user:{PROXY_PASSWORD}@127.0.0.1:{port}"
        yield url
