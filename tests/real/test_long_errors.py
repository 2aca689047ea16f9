"""A registry's endless complaint, which a runtime hands on, costs its own pull and no other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from lading.adapters.cri.client import CriClient
from lading.ports import cri
from lading.ports.cri import ImageSpec
from lading.wire import calls
from tests.real.bed import runtime

COMPLAINT = "no " * 100_000  # more than a gRPC client takes for the end of an answer
MANIFEST = {
    "Content-Type": "application/vnd.oci.image.manifest.v1+json",
    "Docker-Content-Digest": f"sha256:{'a' * 64}",
    "Content-Length": "500",
}


class Complaining:
    """`/slow` is answered when it is let go, everything else with the complaint."""

    def __init__(self) -> None:
        self.asked_slowly = asyncio.Event()
        self.let_go = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.startswith("/v2/slow/"):
            self.asked_slowly.set()
            await self.let_go.wait()
            return web.Response(status=404)
        if request.method == "HEAD":
            return web.Response(headers=MANIFEST)
        return web.json_response(
            {"errors": [{"code": "UNKNOWN", "message": COMPLAINT}]}, status=400
        )


@contextlib.asynccontextmanager
async def serving(registry: Complaining) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", registry.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address, port = runner.addresses[0]
        yield f"{address}:{port}"
    finally:
        await runner.cleanup()


@pytest.mark.components("containerd", "registry")
@pytest.mark.parametrize("fixture", ["containerd_2_3", "containerd_1_7"])
async def test_another_pull_goes_on(fixture: str, request: pytest.FixtureRequest) -> None:
    running: runtime.Runtime = request.getfixturevalue(fixture)
    registry = Complaining()
    async with serving(registry) as host, calls.channel_to(running.endpoint) as channel:
        client = CriClient(channel)
        other = asyncio.create_task(client.pull(ImageSpec(image=f"{host}/slow/app:1")))
        await registry.asked_slowly.wait()
        with pytest.raises(cri.CriError) as complaint:
            await client.pull(ImageSpec(image=f"{host}/loud/app:1"))
        registry.let_go.set()
        with pytest.raises(cri.ImageNotFound):
            await other
    assert not isinstance(complaint.value, cri.Unavailable)
