"""HTTP of uploads: begin, append, ask, finish, cancel; in one request, in chunks, or by mount."""

import asyncio
import re
from datetime import UTC, datetime

from aiohttp import web

from lading.servers.registry import requests
from lading.servers.registry.faults import Code, Fault

_CONTENT_RANGE = re.compile(r"(?:bytes[ =])?([0-9]{1,19})-([0-9]{1,19})(?:/.*)?")


async def begin(request: web.Request) -> web.Response:
    """Opens a session; or takes the blob over from another repository; or takes it whole."""
    name = requests.repository(request)
    if "mount" in request.query and await _mounted(request, name):
        return _created(name, request.query["mount"])
    core = request.app[requests.CORE]
    closing = requests.digest(request.query["digest"]) if "digest" in request.query else None
    session = await asyncio.to_thread(core.uploads.start, name, datetime.now(UTC))
    if closing is None:
        return _state(name, session, size=0, status=202)
    await _append(request, name, session)
    await asyncio.to_thread(core.uploads.finish, name, session, closing)
    return _created(name, str(closing))


async def append(request: web.Request) -> web.Response:
    name, session = requests.repository(request), request.match_info["session"]
    size = await _append(request, name, session)
    return _state(name, session, size=size, status=202)


async def status(request: web.Request) -> web.Response:
    name, session = requests.repository(request), request.match_info["session"]
    size = request.app[requests.CORE].uploads.size(name, session)
    return _state(name, session, size=size, status=204)


async def finish(request: web.Request) -> web.Response:
    name, session = requests.repository(request), request.match_info["session"]
    digest = requests.digest(request.query.get("digest", ""))
    await _append(request, name, session)
    core = request.app[requests.CORE]
    await asyncio.to_thread(core.uploads.finish, name, session, digest)
    return _created(name, str(digest))


async def cancel(request: web.Request) -> web.Response:
    name, session = requests.repository(request), request.match_info["session"]
    await asyncio.to_thread(request.app[requests.CORE].uploads.cancel, name, session)
    return web.Response(status=204)


async def _mounted(request: web.Request, name: str) -> bool:
    digest = requests.digest(request.query["mount"])
    if "from" not in request.query:
        return False
    source = requests.checked_repository(request.query["from"])
    core = request.app[requests.CORE]
    return await asyncio.to_thread(core.blobs.mount, name, digest, source=source)


async def _append(request: web.Request, name: str, session: str) -> int:
    """Writes the body after what is there; returns the new size of the upload."""
    uploads = request.app[requests.CORE].uploads
    with uploads.appending(name, session) as upload:
        _check_range(request, name, session, size=upload.size_bytes)
        await asyncio.to_thread(upload.expect, request.content_length or 0)
        async for piece in request.content.iter_any():
            await asyncio.to_thread(upload.write, piece)
        return upload.size_bytes


def _check_range(request: web.Request, name: str, session: str, *, size: int) -> None:
    """A chunk must say that it begins where the upload ends; without a range it just does."""
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
