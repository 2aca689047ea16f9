"""The clocks of servers an hour ahead of ours or behind: nothing goes early."""

import email.utils
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web

from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.cluster import KubeCluster
from lading.embedded.registry import server
from lading.embedded.registry.core import RegistryCore
from lading.kernel.values import replace
from lading.ports.http import HttpTransport, Request, Response
from lading.pruning.engine.types import Settings
from tests.pruning import worlds
from tests.pruning.builders import digest
from tests.pruning.image_streams import STREAMS, Streams

_CREATED = re.compile(rb'"creationTimestamp":"[^"]*"')
_STAMP = "%Y-%m-%dT%H:%M:%SZ"
HOURS = pytest.mark.parametrize("hours", [-1.0, 1.0])


class Dates:
    """What a server says in its Date header."""

    def __init__(self, hours: float) -> None:
        self.difference = timedelta(hours=hours)

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.difference

    @property
    def header(self) -> str:
        return email.utils.formatdate(time.time() + self.difference.total_seconds(), usegmt=True)


@asynccontextmanager
async def registry_with(folder: Path, dates: Dates) -> AsyncIterator[str]:
    async def dated(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = dates.header

    application = server.make_app(RegistryCore.on(folder), None)
    application.on_response_prepare.append(dated)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@HOURS
async def test_the_age_of_a_tag_is_by_the_clock_of_its_registry(
    tmp_path: Path, hours: float
) -> None:
    dates = Dates(hours)
    async with registry_with(tmp_path / "r", dates) as url, worlds.on(url, tmp_path) as world:
        world.settings = Settings()
        await world.shelf.image("a:old")
        for minutes, gone in ((0, False), (0, False), (59, False), (2, True)):
            dates.difference += timedelta(minutes=minutes)
            applied = await world.pruner().apply()
            assert bool(applied.outcomes) is gone, f"{minutes} minutes later"
        assert await world.shelf.tags("a") == set()


class DatedApi:
    """An API server with a clock of its own, where every object is old."""

    def __init__(self, inner: HttpTransport, dates: Dates) -> None:
        self._inner = inner
        self._dates = dates

    async def __call__(self, request: Request) -> Response:
        answer = await self._inner(request)
        body = answer.body
        if isinstance(body, bytes):
            body = _CREATED.sub(b'"creationTimestamp":"2020-01-01T00:00:00Z"', body)
        return replace(answer, headers={**answer.headers, "date": self._dates.header}, body=body)


@HOURS
async def test_the_age_of_an_item_is_by_the_clock_of_the_api_server(
    streams: Streams, hours: float
) -> None:
    dates = Dates(hours)
    streams.kube = KubeClient(DatedApi(streams.api, dates))
    streams.settings = Settings(keep_tag_revisions=0)
    for name in ("young", "older"):
        await streams.image(name)
    stream = await streams.kube.get(STREAMS, "bar", namespace="images")
    items = [
        {"image": digest(name), "created": f"{dates.now - timedelta(minutes=age):{_STAMP}}"}
        for name, age in (("young", 30), ("older", 90))
    ]
    status = {"tags": [{"tag": "latest", "items": items}]}
    cluster = KubeCluster(streams.kube, address="")
    await cluster.replace_status(STREAMS, {**stream, "status": status})
    await streams.apply()
    assert await streams.items("bar") == ["young"]
