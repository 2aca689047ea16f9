"""Watches: cursors over the log, bookmarks, and their ends, in time that the test moves."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lading.embedded.kube import authentication
from lading.embedded.kube.core import Core
from lading.embedded.kube.verbs import watch
from lading.ports.http import Response
from tests.embedded.kube.cluster import CONFIG_MAPS, TOKEN, Cluster, Document, config_map, decoded


class SleepingClock:
    """Every sleep lasts until the test lets that much time pass."""

    def __init__(self) -> None:
        self._start = datetime(2026, 1, 1, tzinfo=UTC)
        self._passed = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._sleeping = asyncio.Event()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._passed + seconds, future))
        self._sleeping.set()
        await future

    def pass_seconds(self, seconds: float) -> None:
        self._passed += seconds
        for due, future in self._sleepers:
            if due <= self._passed and not future.done():
                future.set_result(None)

    async def until_a_task_sleeps(self) -> None:
        await asyncio.wait_for(self._sleeping.wait(), timeout=5)


@pytest.fixture
def clock() -> SleepingClock:
    return SleepingClock()


@pytest.fixture
async def cluster(clock: SleepingClock) -> AsyncIterator[Cluster]:
    cluster = Cluster()
    await cluster.core.close()
    cluster.core = Core(cluster.storage, clock, tokens={TOKEN: authentication.ADMIN})
    yield cluster
    await cluster.core.close()


def lines(response: Response) -> AsyncIterator[bytes]:
    assert not isinstance(response.body, bytes), response.body
    return response.body


async def next_event(events: AsyncIterator[bytes]) -> Document:
    async with asyncio.timeout(5):
        found: Document = msgspec.json.decode(await anext(events))
        return found


async def opened(cluster: Cluster, **query: str) -> AsyncIterator[bytes]:
    return lines(await cluster.call("GET", CONFIG_MAPS, query={"watch": "1", **query}))


async def test_an_idle_watch_gets_a_bookmark_each_minute(
    cluster: Cluster, clock: SleepingClock
) -> None:
    revision = str(cluster.storage.revision)
    events = await opened(cluster, resourceVersion=revision, allowWatchBookmarks="true")
    waiting = asyncio.ensure_future(next_event(events))
    await clock.until_a_task_sleeps()
    clock.pass_seconds(watch.BOOKMARK_INTERVAL_SECONDS)
    bookmark = await waiting
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["resourceVersion"] == revision


async def test_a_watch_ends_after_its_time(cluster: Cluster, clock: SleepingClock) -> None:
    revision = str(cluster.storage.revision)
    events = await opened(cluster, resourceVersion=revision, timeoutSeconds="5")
    waiting = asyncio.ensure_future(anext(events, b"end"))
    await clock.until_a_task_sleeps()
    clock.pass_seconds(5)
    assert await waiting == b"end"


async def test_a_watch_ends_when_the_server_closes(cluster: Cluster) -> None:
    events = await opened(cluster, resourceVersion=str(cluster.storage.revision))
    waiting = asyncio.ensure_future(anext(events, b"end"))
    await asyncio.sleep(0)
    await cluster.core.close()
    assert await waiting == b"end"


async def test_a_watcher_that_is_left_behind_gets_a_410(cluster: Cluster) -> None:
    events = await opened(cluster, resourceVersion=str(cluster.storage.revision))
    await cluster.create(CONFIG_MAPS, config_map("a"))
    await cluster.create(CONFIG_MAPS, config_map("b"))
    cluster.storage.compact(cluster.storage.revision)
    error = await next_event(events)
    assert (error["type"], error["object"]["code"]) == ("ERROR", 410)
    assert await anext(events, b"end") == b"end"


async def test_a_watch_from_a_revision_that_never_was_must_list_again(cluster: Cluster) -> None:
    response = await cluster.call(
        "GET", CONFIG_MAPS, query={"watch": "1", "resourceVersion": "999999"}
    )
    assert (response.status, decoded(response)["reason"]) == (410, "Expired")


async def test_a_table_names_its_columns_once(cluster: Cluster) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    query = {"watch": "1", "resourceVersion": str(cluster.storage.revision)}
    events = lines(await cluster.call("GET", CONFIG_MAPS, query=query, accept=accept))
    await cluster.create(CONFIG_MAPS, config_map("a"))
    await cluster.create(CONFIG_MAPS, config_map("b"))
    first, second = await next_event(events), await next_event(events)
    assert [each["name"] for each in first["object"]["columnDefinitions"]] == [
        "Name",
        "Data",
        "Age",
    ]
    assert second["object"]["columnDefinitions"] is None


async def test_a_quiet_watch_outlives_the_history_of_others(
    cluster: Cluster, clock: SleepingClock
) -> None:
    events = await opened(cluster, resourceVersion=str(cluster.storage.revision))
    waiting = asyncio.ensure_future(next_event(events))
    await clock.until_a_task_sleeps()
    for number in range(3):
        await cluster.create("/api/v1/nodes", {"metadata": {"name": f"n-{number}"}})
    cluster.storage.compact(cluster.storage.revision)
    await cluster.create(CONFIG_MAPS, config_map("a"))
    assert (await waiting)["type"] == "ADDED"
