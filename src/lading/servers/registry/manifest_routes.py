"""HTTP of manifests, tags, referrers and the catalog."""

import asyncio
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from lading.kernel import manifests
from lading.servers.registry import catalog, requests
from lading.servers.registry.catalog import CatalogPage
from lading.servers.registry.faults import Code, Fault

CATALOG_NAMES_DEFAULT = 100


async def get(request: web.Request) -> web.Response:
    core = request.app[requests.CORE]
    name, wanted = requests.repository(request), request.match_info["reference"]
    stored = await asyncio.to_thread(core.manifests.get, name, wanted)
    headers = {
        "Content-Type": stored.media_type,
        "Docker-Content-Digest": str(stored.digest),
        "ETag": f'"{stored.digest}"',
    }
    if request.headers.get("If-None-Match") in (headers["ETag"], str(stored.digest)):
        return web.Response(status=304, headers=headers)
    return web.Response(body=stored.content, headers=headers)


async def put(request: web.Request) -> web.Response:
    name, wanted = requests.repository(request), request.match_info["reference"]
    declared = request.content_type if "Content-Type" in request.headers else ""
    accepted = await asyncio.to_thread(
        request.app[requests.CORE].manifests.put,
        name,
        wanted,
        await _body(request),
        media_type=declared,
        tags=request.query.getall("tag", []),
    )
    response = web.Response(status=201)
    response.headers["Location"] = f"/v2/{name}/manifests/{accepted.digest}"
    response.headers["Docker-Content-Digest"] = str(accepted.digest)
    if accepted.subject is not None:
        response.headers["OCI-Subject"] = str(accepted.subject)
    for tag in accepted.tags:
        response.headers.add("OCI-Tag", tag)
    return response


async def delete(request: web.Request) -> web.Response:
    core = request.app[requests.CORE]
    name, wanted = requests.repository(request), request.match_info["reference"]
    await asyncio.to_thread(core.manifests.delete, name, wanted)
    return web.Response(status=202)


async def tags(request: web.Request) -> web.Response:
    name = requests.repository(request)
    names = await asyncio.to_thread(catalog.tags, request.app[requests.CORE].layout, name)
    page = catalog.page(names, count=request.query.get("n"), last=request.query.get("last"))
    return _listing(request, page, {"name": name, "tags": page.names})


async def repositories(request: web.Request) -> web.Response:
    names = await asyncio.to_thread(catalog.repositories, request.app[requests.CORE].layout)
    count = request.query.get("n", str(CATALOG_NAMES_DEFAULT))
    page = catalog.page(names, count=count, last=request.query.get("last"))
    return _listing(request, page, {"repositories": page.names})


async def referrers(request: web.Request) -> web.Response:
    digest = requests.digest(request.match_info["digest"])
    wanted = request.query.get("artifactType")
    index = await asyncio.to_thread(
        request.app[requests.CORE].referrers.index,
        requests.repository(request),
        digest,
        artifact_type=wanted,
    )
    headers = {"Content-Type": manifests.OCI_INDEX}
    if wanted is not None:
        headers["OCI-Filters-Applied"] = "artifactType"
    return web.Response(body=msgspec.json.encode(index), headers=headers)


async def _body(request: web.Request) -> bytes:
    """The whole body, refused as soon as it is larger than a manifest may be."""
    content = bytearray()
    async for piece in request.content.iter_any():
        content += piece
        if len(content) > manifests.MANIFEST_BYTES_MAX:
            message = f"a manifest may have {manifests.MANIFEST_BYTES_MAX} bytes"
            raise Fault(Code.SIZE_INVALID, message, status=413)
    return bytes(content)


def _listing(request: web.Request, page: CatalogPage, body: dict[str, object]) -> web.Response:
    headers = {"Content-Type": "application/json"}
    if page.has_more:
        query = urlencode({"n": len(page.names), "last": page.names[-1]})
        headers["Link"] = f'<{request.path}?{query}>; rel="next"'
    return web.Response(body=msgspec.json.encode(body), headers=headers)
