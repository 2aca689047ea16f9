"""Reading only the metadata of objects: one, pages and watches, of built-in and custom kinds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from lading.kernel.objects import PartialObjectMetadata, Resource
from lading.ports.http import Request
from lading.ports.kube import EventType, Selection, WatchEvent
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    Document,
    config_map,
    widget,
)
from tests.conformance.kube.watching import EVENT_SECONDS_MAX, WATCH_SECONDS

LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
KINDS = pytest.mark.parametrize(
    ("kind", "body"),
    [(CONFIG_MAPS, config_map(a="1")), (WIDGETS, widget(size=1))],
    ids=["built-in", "custom"],
)


def labelled(body: Document, name: str) -> Document:
    return {**body, "metadata": {"name": name, "labels": {"number": name}}}


@KINDS
async def test_an_object_and_a_page_are_metadata(
    api: Api, namespace: str, kind: Resource[Document], body: Document
) -> None:
    for name in ("one", "two", "three"):
        await api.client.create(kind, labelled(body, name), namespace=namespace)
    whole = await api.client.get(kind, "one", namespace=namespace)
    one = await api.client.get(kind.metadata_only(), "one", namespace=namespace)
    assert isinstance(one, PartialObjectMetadata)
    assert one.kind == "PartialObjectMetadata"
    assert one.metadata.uid == whole["metadata"]["uid"]
    selection = Selection(namespace=namespace, label_selector="number,number!=two")
    first = await api.client.page(kind.metadata_only(), selection, limit=1)
    rest = await api.client.page(
        kind.metadata_only(), selection, limit=1, continue_token=first.continue_token
    )
    found = [*first.items, *rest.items]
    assert [one.metadata.labels for one in found] == [{"number": "one"}, {"number": "three"}]


@KINDS
async def test_nothing_but_metadata_is_sent(
    api: Api, namespace: str, kind: Resource[Document], body: Document
) -> None:
    await api.client.create(kind, labelled(body, "one"), namespace=namespace)
    answer = await api.call(
        "GET",
        kind.path(namespace=namespace),
        query={"labelSelector": "number"},
        headers={"accept": LIST},
    )
    whole = await api.client.get(kind, "one", namespace=namespace)
    assert answer.body["kind"] == "PartialObjectMetadataList"
    assert answer.body["apiVersion"] == "meta.k8s.io/v1"
    (item,) = answer.body["items"]
    assert item["metadata"] == whole["metadata"]
    assert set(item) <= {"kind", "apiVersion", "metadata"}


@KINDS
async def test_a_watch_sends_metadata(
    api: Api, namespace: str, kind: Resource[Document], body: Document
) -> None:
    await api.client.create(kind, labelled(body, "before"), namespace=namespace)
    async with watching_metadata(api, kind, namespace) as stream:
        first = await until_bookmark(stream)
        await api.client.create(kind, labelled(body, "after"), namespace=namespace)
        await api.client.delete(kind, "before", namespace=namespace)
        events = [await anext(stream), await anext(stream)]
    assert [(event.type, event.object.metadata.name) for event in (*first, *events)] == [
        (EventType.ADDED, "before"),
        (EventType.ADDED, "after"),
        (EventType.DELETED, "before"),
    ]
    assert all(event.object.kind == "PartialObjectMetadata" for event in (*first, *events))


@KINDS
async def test_the_lines_of_a_watch_hold_nothing_else(
    api: Api, namespace: str, kind: Resource[Document], body: Document
) -> None:
    await api.client.create(kind, labelled(body, "one"), namespace=namespace)
    request = Request(
        method="GET",
        path=kind.path(namespace=namespace),
        query=(
            ("watch", "true"),
            ("labelSelector", "number"),
            ("allowWatchBookmarks", "true"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("timeoutSeconds", "1"),
        ),
        headers={"accept": OBJECT},
    )
    response = await api.target.exchange(request)
    assert not isinstance(response.body, bytes)
    async with asyncio.timeout(EVENT_SECONDS_MAX):
        text = b"".join([chunk async for chunk in response.body])
    added, bookmark, *_ = (msgspec.json.decode(line) for line in text.splitlines())
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    for event in (added, bookmark):
        assert set(event["object"]) == {"kind", "apiVersion", "metadata"}
        assert event["object"]["kind"] == "PartialObjectMetadata"
        assert event["object"]["apiVersion"] == "meta.k8s.io/v1"


Events = AsyncIterator[WatchEvent[PartialObjectMetadata]]


@contextlib.asynccontextmanager
async def watching_metadata(
    api: Api, kind: Resource[Document], namespace: str
) -> AsyncIterator[Events]:
    stream = api.client.watch(
        kind.metadata_only(),
        Selection(namespace=namespace, label_selector="number"),
        send_initial_events=True,
        timeout_seconds=WATCH_SECONDS,
    )
    async with contextlib.aclosing(stream), asyncio.timeout(EVENT_SECONDS_MAX):
        yield stream


async def until_bookmark(stream: Events) -> list[WatchEvent[PartialObjectMetadata]]:
    found = []
    while not (event := await anext(stream)).initial_events_end:
        found.append(event)
    return found
