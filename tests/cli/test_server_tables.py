"""`lading get -w`: the table first, then a line for each object that changes or goes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube import discovery
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, NAMESPACES
from lading.cli import server_tables
from lading.cli.server_tables import TableQuery
from lading.embedded import api_server
from lading.kernel.values import replace
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import Selection
from lading.wiring import clusters
from tests.e2e import waiting

LINE_SECONDS_MAX = 30.0
EXPIRED = {
    "apiVersion": "v1",
    "kind": "Status",
    "status": "Failure",
    "reason": "Expired",
    "message": "too old resource version: 1 (2)",
    "code": 410,
}


class ExpiringWatches:
    """An HttpTransport that refuses the next watch, after something happened."""

    def __init__(self, exchange: HttpTransport) -> None:
        self.exchange = exchange
        self.before_the_refusal: Callable[[], Awaitable[None]] | None = None
        self.watches = 0

    async def __call__(self, request: Request) -> Response:
        if dict(request.query).get("watch"):
            self.watches += 1
            happen, self.before_the_refusal = self.before_the_refusal, None
            if happen is not None:
                await happen()
                headers = {"content-type": "application/json"}
                return Response(status=410, headers=headers, body=msgspec.json.encode(EXPIRED))
        return await self.exchange(request)


@pytest.fixture
async def exchange(tmp_path: Path) -> AsyncIterator[ExpiringWatches]:
    async with api_server.serve(tmp_path, SystemClock()) as api:
        yield ExpiringWatches(api.exchange)


@pytest.fixture
def client(exchange: ExpiringWatches) -> KubeClient:
    return clusters.client_of(exchange)


async def make(client: KubeClient, name: str, namespace: str = "default") -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace=namespace)


async def change(client: KubeClient, name: str) -> None:
    await client.patch(CONFIG_MAPS, name, {"data": {"key": "value"}}, namespace="default")


async def asked(client: KubeClient, namespace: str = "default") -> TableQuery:
    resource = (await discovery.discover(client)).named("configmaps")
    # Those of the server itself are of no interest here.
    mine = Selection(namespace=namespace, field_selector="metadata.name!=kube-root-ca.crt")
    return TableQuery(resource=resource, names=(), selection=mine)


class Lines:
    """What `get -w` prints, as words of a line, without the age."""

    def __init__(self, found: AsyncIterator[str]) -> None:
        self._found = found

    async def next(self, count: int = 1) -> list[list[str]]:
        async with asyncio.timeout(LINE_SECONDS_MAX):
            return [(await anext(self._found)).split()[:-1] for _ in range(count)]


async def test_each_change_is_one_line(client: KubeClient) -> None:
    await make(client, "one")
    async with aclosing(server_tables.follow(client, await asked(client), wide=False)) as following:
        lines = Lines(following)
        await lines.next(2)
        await change(client, "one")
        assert await lines.next() == [["one", "1"]]
        await client.delete(CONFIG_MAPS, "one", namespace="default")
        assert await lines.next() == [["configmap/one"]]
        await make(client, "two")
        assert await lines.next() == [["two", "0"]]


async def test_what_happened_while_the_watch_was_too_old_is_shown(
    exchange: ExpiringWatches, client: KubeClient
) -> None:
    for name in ("changed", "deleted", "same"):
        await make(client, name)

    async def happen() -> None:
        await client.delete(CONFIG_MAPS, "deleted", namespace="default")
        await change(client, "changed")
        await make(client, "new")

    exchange.before_the_refusal = happen
    async with aclosing(server_tables.follow(client, await asked(client), wide=False)) as following:
        lines = Lines(following)
        assert [words[0] for words in await lines.next(4)] == ["NAME", "changed", "deleted", "same"]
        assert await lines.next(3) == [["changed", "1"], ["new", "0"], ["configmap/deleted"]]
        await change(client, "same")
        assert await lines.next() == [["same", "1"]], "and it continues from the new table"
    assert exchange.watches == 2


async def test_a_deletion_in_all_namespaces_names_the_namespace(client: KubeClient) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "other"}})
    await make(client, "one", "other")
    everywhere = await asked(client, namespace="")
    async with aclosing(server_tables.follow(client, everywhere, wide=False)) as following:
        lines = Lines(following)
        assert (await lines.next(2))[1] == ["other", "one", "0"]
        await client.delete(CONFIG_MAPS, "one", namespace="other")
        async with asyncio.timeout(LINE_SECONDS_MAX):
            assert await anext(following) == "configmap/one deleted in other\n"


@pytest.mark.parametrize("wide", [False, True], ids=["as a table", "wide"])
async def test_a_long_name_fits_the_screen_unless_the_table_is_wide(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch, wide: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    name = ".".join(["n" * 60] * 4)
    await make(client, name)
    shown = await server_tables.text(
        client, [await asked(client)], wide=wide, on_missing=lambda error: None
    )
    assert (name in shown) is wide
    assert (max(map(len, shown.splitlines())) <= 80) is not wide


async def test_an_object_that_lost_its_label_is_not_called_deleted(client: KubeClient) -> None:
    body = {"metadata": {"name": "one", "labels": {"app": "x"}}}
    await client.create(CONFIG_MAPS, body, namespace="default")
    whole = await asked(client)
    selected = replace(whole, selection=Selection(namespace="default", label_selector="app=x"))
    async with aclosing(server_tables.follow(client, selected, wide=False)) as following:
        await Lines(following).next(2)
        without = {"metadata": {"labels": {"app": None}}}
        await client.patch(CONFIG_MAPS, "one", without, namespace="default")
        assert await anext(following) == "configmap/one deleted or no longer selected\n"


async def test_a_wide_watch_is_not_cut(client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    name = ".".join(["n" * 60] * 4)
    await make(client, name)
    async with aclosing(server_tables.follow(client, await asked(client), wide=True)) as following:
        assert (await Lines(following).next(2))[1][0] == name


async def test_objects_of_one_name_in_two_namespaces_are_two(
    exchange: ExpiringWatches, client: KubeClient
) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "other"}})
    for namespace in ("default", "other"):
        await make(client, "one", namespace)
    exchange.before_the_refusal = lambda: make(client, "two")
    everywhere = await asked(client, namespace="")
    async with aclosing(server_tables.follow(client, everywhere, wide=False)) as following:
        lines = Lines(following)
        await lines.next(3)
        assert await lines.next() == [["default", "two", "0"]], "the others did not change"


async def test_an_object_that_is_gone_before_it_is_read_is_not_shown(
    exchange: ExpiringWatches,
) -> None:
    async def without_brief(request: Request) -> Response:
        if request.method == "GET" and request.path.endswith("/brief"):
            return Response(status=404, headers={"content-type": "application/json"}, body=b"{}")
        return await exchange(request)

    client = clusters.client_of(without_brief)
    async with aclosing(server_tables.follow(client, await asked(client), wide=False)) as following:
        lines = Lines(following)
        await lines.next()
        for name in ("brief", "two"):
            await make(client, name)
        assert await lines.next() == [["two", "0"]]


async def test_a_deletion_is_shown_once_although_watches_end(
    exchange: ExpiringWatches, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_tables, "_WATCH_SECONDS", 1)
    await make(client, "one")

    async with aclosing(server_tables.follow(client, await asked(client), wide=False)) as following:
        lines = Lines(following)
        await lines.next(2)
        await client.delete(CONFIG_MAPS, "one", namespace="default")
        assert await lines.next() == [["configmap/one"]]
        following_line = asyncio.create_task(lines.next())
        await waiting.until(_watched_again(exchange), "the watch began again")
        await make(client, "two")
        assert await following_line == [["two", "0"]]
        following_line = asyncio.create_task(lines.next())
        exchange.before_the_refusal = lambda: make(client, "three")
        assert await following_line == [["three", "0"]]
        await make(client, "four")
        assert await lines.next() == [["four", "0"]], "also when all was read again"


def _watched_again(exchange: ExpiringWatches) -> Callable[[], Awaitable[bool]]:
    async def is_watched_again() -> bool:
        return exchange.watches > 1

    return is_watched_again
