"""Serves the registry on a port: its routes, its access checks and its error documents."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from lading.embedded.registry import access, routes
from lading.embedded.registry.access import AccessGuard
from lading.embedded.registry.core import RegistryCore
from lading.embedded.registry.faults import Code, Fault
from lading.embedded.registry.usage import DEFAULT_LIMITS, StoreLimits
from lading.kernel.host_guard import HostGuard

SHUTDOWN_SECONDS_MAX = 2.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_GUARD: web.AppKey[AccessGuard | None] = web.AppKey("guard")
_HOSTS = web.AppKey("hosts", HostGuard)
LOOPBACK = HostGuard.of(())


@asynccontextmanager
async def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    guard: AccessGuard | None = None,
    tls: ssl.SSLContext | None = None,
    limits: StoreLimits = DEFAULT_LIMITS,
) -> AsyncIterator[str]:
    """Yields the URL; port 0 takes a free one. The data in `root` stays."""
    core = RegistryCore.on(root, limits)
    await asyncio.to_thread(core.uploads.purge, datetime.now(UTC))
    await asyncio.to_thread(core.usage.measure)
    runner = web.AppRunner(
        make_app(core, guard, HostGuard.of((host,))),
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS_MAX,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        bound_port = runner.addresses[0][1]
        shown_host = f"[{host}]" if ":" in host else host
        yield f"{'https' if tls else 'http'}://{shown_host}:{bound_port}"
    finally:
        await runner.cleanup()


def make_app(
    core: RegistryCore, guard: AccessGuard | None, hosts: HostGuard = LOOPBACK
) -> web.Application:
    app = web.Application(middlewares=[_answer_faults, _check_host, _check_access])
    app[routes.CORE] = core
    app[_GUARD] = guard
    app[_HOSTS] = hosts
    name, uploads = "/v2/{name:.+}", "/v2/{name:.+}/blobs/uploads"
    app.add_routes(
        [
            web.get("/v2", _ping),
            web.get("/v2/", _ping),
            web.get("/v2/_catalog", routes.repositories),
            web.get(f"{name}/tags/list", routes.tags),
            web.get(f"{name}/referrers/{{digest}}", routes.referrers),
            web.get(f"{name}/manifests/{{reference}}", routes.get_manifest),
            web.put(f"{name}/manifests/{{reference}}", routes.put_manifest),
            web.delete(f"{name}/manifests/{{reference}}", routes.delete_manifest),
            web.post(f"{uploads}", routes.begin_upload),
            web.post(f"{uploads}/", routes.begin_upload),
            web.get(f"{uploads}/{{session}}", routes.upload_status),
            web.patch(f"{uploads}/{{session}}", routes.append_upload),
            web.put(f"{uploads}/{{session}}", routes.finish_upload),
            web.delete(f"{uploads}/{{session}}", routes.cancel_upload),
            web.get(f"{name}/blobs/{{digest}}", routes.get_blob),
            web.delete(f"{name}/blobs/{{digest}}", routes.delete_blob),
        ]
    )
    if isinstance(guard, access.TokenGuard):
        app.add_routes(
            [
                web.get(access.TOKEN_PATH, guard.issue),
                web.post(access.TOKEN_PATH, guard.issue),
            ]
        )
    return app


async def _ping(_request: web.Request) -> web.Response:
    return web.json_response({})


@web.middleware
async def _answer_faults(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns refusals into the error document of the specification, and adds the API version."""
    try:
        response = await handler(request)
    except Fault as fault:
        response = _refusal(fault)
    except web.HTTPNotFound:
        response = _refusal(Fault(Code.UNSUPPORTED, "no such endpoint", status=404))
    except web.HTTPMethodNotAllowed as error:
        allow = {"Allow": ",".join(sorted(error.allowed_methods))}
        response = _refusal(Fault(Code.UNSUPPORTED, "method not supported", headers=allow))
    except OSError as error:
        response = _refusal(Fault(Code.UNAVAILABLE, f"the storage failed: {error.strerror}"))
    if not response.prepared:
        response.headers["Docker-Distribution-Api-Version"] = "registry/2.0"
    return response


@web.middleware
async def _check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    refusal = request.app[_HOSTS].refusal(
        host=request.headers.get("Host"), origin=request.headers.get("Origin")
    )
    if refusal:
        raise Fault(Code.DENIED, refusal)
    return await handler(request)


@web.middleware
async def _check_access(request: web.Request, handler: Handler) -> web.StreamResponse:
    guard = request.app[_GUARD]
    if guard is not None and request.path != access.TOKEN_PATH:
        guard.check(request, routes.scope_of(request))
    return await handler(request)


def _refusal(fault: Fault) -> web.Response:
    headers = {"Content-Type": "application/json", **fault.headers}
    return web.Response(status=fault.status, body=fault.body(), headers=headers)
