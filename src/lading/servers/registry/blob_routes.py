"""HTTP of blobs: pull (whole or a range), existence, deletion."""

import asyncio

from aiohttp import web

from lading.servers.registry import requests


async def get(request: web.Request) -> web.StreamResponse:
    """The file itself; aiohttp answers ranges, HEAD and conditional requests from it."""
    digest = requests.digest(request.match_info["digest"])
    core = request.app[requests.CORE]
    path = await asyncio.to_thread(core.blobs.path, requests.repository(request), digest)
    headers = {
        "Content-Type": "application/octet-stream",
        "Docker-Content-Digest": str(digest),
        "Cache-Control": "max-age=31536000",
    }
    return web.FileResponse(path, headers=headers)


async def delete(request: web.Request) -> web.Response:
    digest = requests.digest(request.match_info["digest"])
    core = request.app[requests.CORE]
    await asyncio.to_thread(core.blobs.unlink, requests.repository(request), digest)
    return web.Response(status=202)
