"""The HTTP handlers: manifests, tags, referrers and the catalog; blobs and their uploads."""

import asyncio
import re
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from lading.embedded.registry import catalog, faults
from lading.embedded.registry.catalog import CatalogPage
from lading.embedded.registry.core import RegistryCore
from lading.embedded.registry.faults import Code, Fault
from lading.kernel import manifests

CORE = web.AppKey("core", RegistryCore)
CATALOG_NAMES_DEFAULT = 100
_CONTENT_RANGE = re.compile(r"(?:bytes[ =])?([0-9]{1,19})-([0-9]{1,19})(?:/.*)?")
_ACTIONS_BY_METHOD = {"GET": "pull", "HEAD": "pull", "DELETE": "delete"}


def scope_of(request: web.Request) -> str:
    """The scopes that the request needs, separated by spaces."""
    if "name" not in request.match_info:
        return "registry:catalog:*" if request.path == "/v2/_catalog" else ""
    actions = _ACTIONS_BY_METHOD.get(request.method, "pull,push")
    scope = f"repository:{repository(request)}:{actions}"
    if request.method == "POST" and "mount" in request.query and "from" in request.query:
        source = faults.checked_repository(request.query["from"])
        return f"{scope} repository:{source}:pull"
    return scope


def repository(request: web.Request) -> str:
    return faults.checked_repository(request.match_info["name"])


async def get_manifest(request: web.Request) -> web.Response:
    core = request.app[CORE]
    name, wanted = repository(request), request.match_info["reference"]
    stored = await asyncio.to_thread(core.manifests.get, name, wanted)
    headers = {
        "Content-Type": stored.media_type,
        "Docker-Content-Digest": str(stored.digest),
        "ETag": f'"{stored.digest}"',
    }
    if request.headers.get("If-None-Match") in (headers["ETag"], str(stored.digest)):
        return web.Response(status=304, headers=headers)
    return web.Response(body=stored.content, headers=headers)


async def put_manifest(request: web.Request) -> web.Response:
    name, wanted = repository(request), request.match_info["reference"]
    declared = request.content_type if "Content-Type" in request.headers else ""
    accepted = await asyncio.to_thread(
        request.app[CORE].manifests.put,
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


async def delete_manifest(request: web.Request) -> web.Response:
    core = request.app[CORE]
    name, wanted = repository(request), request.match_info["reference"]
    await asyncio.to_thread(core.manifests.delete, name, wanted)
    return web.Response(status=202)


async def tags(request: web.Request) -> web.Response:
    name = repository(request)
    names = await asyncio.to_thread(catalog.tags, request.app[CORE].layout, name)
    page = catalog.page(names, count=request.query.get("n"), last=request.query.get("last"))
    return _listing(request, page, {"name": name, "tags": page.names})


async def repositories(request: web.Request) -> web.Response:
    names = await asyncio.to_thread(catalog.repositories, request.app[CORE].layout)
    count = request.query.get("n", str(CATALOG_NAMES_DEFAULT))
    page = catalog.page(names, count=count, last=request.query.get("last"))
    return _listing(request, page, {"repositories": page.names})


async def referrers(request: web.Request) -> web.Response:
    digest = faults.checked_digest(request.match_info["digest"])
    wanted = request.query.get("artifactType")
    index = await asyncio.to_thread(
        request.app[CORE].referrers.index,
        repository(request),
        digest,
        artifact_type=wanted,
    )
    headers = {"Content-Type": manifests.OCI_INDEX}
    if wanted is not None:
        headers["OCI-Filters-Applied"] = "artifactType"
    return web.Response(body=msgspec.json.encode(index), headers=headers)


async def _body(request: web.Request) -> bytes:
    """Reads the whole body, up to the size limit of manifests."""
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


async def get_blob(request: web.Request) -> web.StreamResponse:
    """Sends the file; aiohttp handles ranges, HEAD and conditional requests."""
    digest = faults.checked_digest(request.match_info["digest"])
    core = request.app[CORE]
    path = await asyncio.to_thread(core.blobs.path, repository(request), digest)
    headers = {
        "Content-Type": "application/octet-stream",
        "Docker-Content-Digest": str(digest),
        "Cache-Control": "max-age=31536000",
    }
    return web.FileResponse(path, headers=headers)


async def delete_blob(request: web.Request) -> web.Response:
    digest = faults.checked_digest(request.match_info["digest"])
    core = request.app[CORE]
    await asyncio.to_thread(core.blobs.unlink, repository(request), digest)
    return web.Response(status=202)


async def begin_upload(request: web.Request) -> web.Response:
    """Opens a session, mounts the blob from another repository, or takes the whole blob."""
    name = repository(request)
    if "mount" in request.query and await _mounted(request, name):
        return _created(name, request.query["mount"])
    core = request.app[CORE]
    closing = faults.checked_digest(request.query["digest"]) if "digest" in request.query else None
    session = await asyncio.to_thread(core.uploads.start, name, datetime.now(UTC))
    if closing is None:
        return _state(name, session, size=0, status=202)
    await _append(request, name, session)
    await asyncio.to_thread(core.uploads.finish, name, session, closing)
    return _created(name, str(closing))


async def append_upload(request: web.Request) -> web.Response:
    name, session = repository(request), request.match_info["session"]
    size = await _append(request, name, session)
    return _state(name, session, size=size, status=202)


async def upload_status(request: web.Request) -> web.Response:
    name, session = repository(request), request.match_info["session"]
    size = request.app[CORE].uploads.size(name, session)
    return _state(name, session, size=size, status=204)


async def finish_upload(request: web.Request) -> web.Response:
    name, session = repository(request), request.match_info["session"]
    digest = faults.checked_digest(request.query.get("digest", ""))
    await _append(request, name, session)
    core = request.app[CORE]
    await asyncio.to_thread(core.uploads.finish, name, session, digest)
    return _created(name, str(digest))


async def cancel_upload(request: web.Request) -> web.Response:
    name, session = repository(request), request.match_info["session"]
    await asyncio.to_thread(request.app[CORE].uploads.cancel, name, session)
    return web.Response(status=204)


async def _mounted(request: web.Request, name: str) -> bool:
    digest = faults.checked_digest(request.query["mount"])
    if "from" not in request.query:
        return False
    source = faults.checked_repository(request.query["from"])
    core = request.app[CORE]
    return await asyncio.to_thread(core.blobs.mount, name, digest, source=source)


async def _append(request: web.Request, name: str, session: str) -> int:
    """Appends the body; returns the new size of the upload."""
    uploads = request.app[CORE].uploads
    with uploads.appending(name, session) as upload:
        _check_range(request, name, session, size=upload.size_bytes)
        await asyncio.to_thread(upload.expect, request.content_length or 0)
        async for piece in request.content.iter_any():
            await asyncio.to_thread(upload.write, piece)
        return upload.size_bytes


def _check_range(request: web.Request, name: str, session: str, *, size: int) -> None:
    """A chunk must begin where the upload ends; one without a range always does."""
    text = request.headers.get("Content-Range")
    if text is None:
        return
    match = _CONTENT_RANGE.fullmatch(text)
    begin, end = (int(match[1]), int(match[2])) if match else (-1, -1)
    if begin != size or end < begin:
        raise Fault(
            Code.RANGE_INVALID,
            f"the upload has {size} bytes; the next chunk must begin there",
            detail=text,
            headers=_state_headers(name, session, size),
        )
    if request.content_length is not None and request.content_length != end - begin + 1:
        raise Fault(Code.SIZE_INVALID, f"Content-Length is {request.content_length}", detail=text)


def _state(name: str, session: str, *, size: int, status: int) -> web.Response:
    return web.Response(status=status, headers=_state_headers(name, session, size))


def _state_headers(name: str, session: str, size: int) -> dict[str, str]:
    return {
        "Location": f"/v2/{name}/blobs/uploads/{session}",
        "Range": f"0-{max(size - 1, 0)}",
        "Docker-Upload-UUID": session,
    }


def _created(name: str, digest: str) -> web.Response:
    location = f"/v2/{name}/blobs/{digest}"
    headers = {"Location": location, "Docker-Content-Digest": digest}
    return web.Response(status=201, headers=headers)
