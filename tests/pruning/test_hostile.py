"""Pruning registries that are busy, broken or guarded: it finishes or says why; nothing is lost."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from lading.adapters.clock import SystemClock
from lading.adapters.registry import client as registry_client
from lading.adapters.registry import credentials
from lading.adapters.registry.administration import AdministrationClient
from lading.cli import error_messages
from lading.embedded.registry import access, server
from lading.embedded.registry.core import RegistryCore
from lading.kernel.digests import Digest
from lading.ports.registry import Credential
from lading.pruning.engine.effects.outcomes import Result
from tests.pruning import worlds
from tests.pruning.worlds import World

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(
    folder: Path, disturb: Callable[[web.Request], web.Response | None]
) -> AsyncIterator[str]:
    """The embedded registry behind something that sometimes answers for it."""

    @web.middleware
    async def disturbed(request: web.Request, handler: Handler) -> web.StreamResponse:
        return disturb(request) or await handler(request)

    application = server.make_app(RegistryCore.on(folder), None)
    application.middlewares.insert(0, disturbed)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def filled(world: World) -> None:
    for tag in ("old-1", "old-2", "keep", "used"):
        await world.shelf.image(f"team/app:{tag}", layers=[tag.encode()])
    await world.run_pod("registry.test/team/app:used")


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_registry_is_tried_again(tmp_path: Path, status: int) -> None:
    numbers = itertools.count(1)
    active = False

    def disturb(_request: web.Request) -> web.Response | None:
        return web.Response(status=status) if active and next(numbers) % 4 == 0 else None

    async with served(tmp_path / "r", disturb) as url, worlds.on(url, tmp_path) as world:
        await filled(world)
        active = True
        applied = await world.pruner().apply()
        active = False
        assert {one.result for one in applied.outcomes} == {Result.DELETED}
        assert await world.shelf.tags("team/app") == {"keep", "used"}


@pytest.mark.parametrize("body", [b"<html>", b'{"tags": 3, "repositories": 3}'])
@pytest.mark.parametrize("path", ["/v2/_catalog", "/tags/list"])
async def test_garbage_in_a_list_is_an_error_and_nothing_goes(
    tmp_path: Path, path: str, body: bytes
) -> None:
    active = False

    def disturb(request: web.Request) -> web.Response | None:
        return web.Response(body=body) if active and request.path.endswith(path) else None

    async with served(tmp_path / "r", disturb) as url, worlds.on(url, tmp_path) as world:
        await filled(world)
        active = True
        with pytest.raises(Exception, match=r"not a list|TaskGroup") as raised:
            await world.pruner().apply()
        active = False
        assert "not a list" in (error_messages.message(raised.value) or "")
        assert await world.shelf.tags("team/app") == {"old-1", "old-2", "keep", "used"}


@pytest.mark.parametrize("stated", ["", str(Digest.of(b"other"))], ids=["no digest", "another"])
async def test_a_manifest_with_a_wrong_digest_keeps_its_repository(
    tmp_path: Path, stated: str
) -> None:
    """By its tag, too: a document without children would give up what an index holds."""
    active = False

    def disturb(request: web.Request) -> web.Response | None:
        is_manifest = request.method == "GET" and "/team/app/manifests/" in request.path
        headers = {"Docker-Content-Digest": stated} if stated else {}
        return web.Response(body=b"{}", headers=headers) if active and is_manifest else None

    async with served(tmp_path / "r", disturb) as url, worlds.on(url, tmp_path) as world:
        await filled(world)
        active = True
        assert (await world.pruner().apply()).outcomes == ()
        active = False
        assert await world.shelf.tags("team/app") == {"old-1", "old-2", "keep", "used"}


async def test_tokens_that_live_a_second_are_renewed(tmp_path: Path) -> None:
    guard = access.TokenGuard(passwords=access.Passwords({"user": "secret"}), seconds=1)
    async with worlds.opened(tmp_path) as world:
        application = server.make_app(RegistryCore.on(tmp_path / "guarded"), guard)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host = f"127.0.0.1:{runner.addresses[0][1]}"
        table = credentials.Table({host: Credential(username="user", password="secret")})
        try:
            async with registry_client.connect(SystemClock(), credentials=table) as client:
                admin = AdministrationClient(client)
                world.shelf, world.registry = worlds.Shelf(admin, host), admin
                for number in range(6):
                    await world.shelf.image(f"a:old-{number}", layers=[str(number).encode()])
                applied = await world.pruner().apply()
                assert {one.result for one in applied.outcomes} == {Result.DELETED}
                assert await world.shelf.tags("a") == set()
        finally:
            await runner.cleanup()
