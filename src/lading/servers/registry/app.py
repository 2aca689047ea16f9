"""The HTTP application: which handler answers which path, and how refusals are written."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from lading.kernel.host_guard import HostGuard
from lading.servers.registry import (
    access,
    blob_routes,
    manifest_routes,
    requests,
    upload_routes,
)
from lading.servers.registry.access import AccessGuard
from lading.servers.registry.core import RegistryCore
from lading.servers.registry.faults import Code, Fault

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_GUARD: web.AppKey[AccessGuard | None] = web.AppKey("guard")
_HOSTS = web.AppKey("hosts", HostGuard)
LOOPBACK = HostGuard.of(())


def make_app(
    core: RegistryCore, guard: AccessGuard | None, hosts: HostGuard = LOOPBACK
) -> web.Application:
    app = web.Application(middlewares=[_answer_faults, _check_host, _check_access])
    app[requests.CORE] = core
    app[_GUARD] = guard
    app[_HOSTS] = hosts
    name, uploads = "/v2/{name:.+}", "/v2/{name:.+}/blobs/uploads"
    app.add_routes(
        [
            web.get("/v2", _ping),
            web.get("/v2/", _ping),
            web.get("/v2/_catalog", manifest_routes.repositories),
            web.get(f"{name}/tags/list", manifest_routes.tags),
            web.get(f"{name}/referrers/{{digest}}", manifest_routes.referrers),
            web.get(f"{name}/manifests/{{reference}}", manifest_routes.get),
            web.put(f"{name}/manifests/{{reference}}", manifest_routes.put),
            web.delete(f"{name}/manifests/{{reference}}", manifest_routes.delete),
            web.post(f"{uploads}", upload_routes.begin),
            web.post(f"{uploads}/", upload_routes.begin),
            web.get(f"{uploads}/{{session}}", upload_routes.status),
            web.patch(f"{uploads}/{{session}}", upload_routes.append),
            web.put(f"{uploads}/{{session}}", upload_routes.finish),
            web.delete(f"{uploads}/{{session}}", upload_routes.cancel),
            web.get(f"{name}/blobs/{{digest}}", blob_routes.get),
            web.delete(f"{name}/blobs/{{digest}}", blob_routes.delete),
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
    """Refusals become the error document of the specification, and every answer has our version."""
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
        guard.check(request, access.scope_of(request))
    return await handler(request)


def _refusal(fault: Fault) -> web.Response:
    headers = {"Content-Type": "application/json", **fault.headers}
    return web.Response(status=fault.status, body=fault.body(), headers=headers)
