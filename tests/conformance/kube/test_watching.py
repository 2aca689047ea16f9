"""Watches: every change once and in order, from any revision, for what was selected."""

import asyncio
import contextlib

import pytest

from lading.ports.kube import EventType, Selection
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    PODS,
    WIDGETS,
    Api,
    Document,
    config_map,
    widget,
)
from tests.conformance.kube.watching import EVENT_SECONDS_MAX, following, types_and_names, watching


async def revision(api: Api, namespace: str) -> str:
    return (await api.client.page(CONFIG_MAPS, Selection(namespace=namespace))).resource_version


def labelled(name: str, **labels: str) -> Document:
    document = config_map(name)
    document["metadata"]["labels"] = labels
    return document


async def test_changes_come_once_and_in_order(api: Api, namespace: str) -> None:
    start = await revision(api, namespace)
    selection = Selection(namespace=namespace, field_selector="metadata.name=one")
    async with watching(api, CONFIG_MAPS, selection, resource_version=start) as stream:
        created = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
        changed = await api.client.patch(
            CONFIG_MAPS, "one", {"data": {"a": "2"}}, namespace=namespace
        )
        await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
        events = await following(stream, 3)
    assert types_and_names(events) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]
    assert [event.object for event in events[:2]] == [created, changed]
    deleted = events[2].object
    assert deleted["data"] == {"a": "2"}
    versions = [int(event.resource_version) for event in events]
    assert versions == sorted(set(versions))
    assert int(deleted["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])


async def test_a_watch_resumes_where_another_ended(api: Api, namespace: str) -> None:
    start = await revision(api, namespace)
    names = [f"n-{number}" for number in range(6)]
    for name in names:
        await api.client.create(WIDGETS, widget(name), namespace=namespace)
    selection = Selection(namespace=namespace)
    async with watching(api, WIDGETS, selection, resource_version=start) as stream:
        first = await following(stream, 3)
    last = first[-1].resource_version
    async with watching(api, WIDGETS, selection, resource_version=last) as stream:
        rest = await following(stream, 3)
    assert types_and_names(first + rest) == [("ADDED", name) for name in names]


async def test_a_watch_without_a_revision_begins_with_what_is_there(
    api: Api, namespace: str
) -> None:
    await api.client.create(WIDGETS, widget("old"), namespace=namespace)
    async with watching(api, WIDGETS, Selection(namespace=namespace)) as stream:
        assert types_and_names(await following(stream, 1)) == [("ADDED", "old")]
        await api.client.create(WIDGETS, widget("new"), namespace=namespace)
        assert types_and_names(await following(stream, 1)) == [("ADDED", "new")]


async def test_initial_events_end_with_a_bookmark(api: Api, namespace: str) -> None:
    for name in ("a", "b", "c"):
        await api.client.create(WIDGETS, widget(name), namespace=namespace)
    selection = Selection(namespace=namespace)
    names = set()
    async with watching(api, WIDGETS, selection, send_initial_events=True) as stream:
        async with asyncio.timeout(EVENT_SECONDS_MAX):
            async for event in stream:
                if event.type is EventType.BOOKMARK and event.initial_events_end:
                    break
                names.add((event.type, event.object["metadata"]["name"]))
        assert names == {(EventType.ADDED, name) for name in ("a", "b", "c")}
        assert int(event.resource_version) > 0
        await api.client.create(WIDGETS, widget("d"), namespace=namespace)
        assert types_and_names(await following(stream, 1)) == [("ADDED", "d")]


async def test_an_empty_namespace_still_has_an_end_of_its_initial_events(
    api: Api, namespace: str
) -> None:
    selection = Selection(namespace=namespace)
    async with watching(api, WIDGETS, selection, send_initial_events=True) as stream:
        async with asyncio.timeout(EVENT_SECONDS_MAX):
            event = await anext(stream)
    assert event.initial_events_end


async def test_initial_events_need_bookmarks_and_a_match(api: Api, namespace: str) -> None:
    query = {"watch": "true", "sendInitialEvents": "true", "timeoutSeconds": "1"}
    answer = await api.call("GET", WIDGETS.path(namespace=namespace), query=query)
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert message == (
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    )


async def test_an_object_that_leaves_the_selection_is_deleted_for_the_watcher(
    api: Api, namespace: str
) -> None:
    start = await revision(api, namespace)
    selection = Selection(namespace=namespace, label_selector="on=yes")
    async with watching(api, CONFIG_MAPS, selection, resource_version=start) as stream:
        await api.client.create(CONFIG_MAPS, labelled("in", on="yes"), namespace=namespace)
        await api.client.create(CONFIG_MAPS, labelled("out", on="no"), namespace=namespace)
        for value in ("no", "yes"):
            patch = {"metadata": {"labels": {"on": value}}}
            await api.client.patch(CONFIG_MAPS, "in", patch, namespace=namespace)
        events = await following(stream, 3)
    assert types_and_names(events) == [("ADDED", "in"), ("DELETED", "in"), ("ADDED", "in")]


async def test_other_namespaces_and_kinds_are_not_sent(api: Api, namespace: str) -> None:
    start = await revision(api, namespace)
    async with watching(
        api, PODS, Selection(namespace=namespace), resource_version=start
    ) as stream:
        await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await api.client.create(PODS, pod, namespace=namespace)
        assert types_and_names(await following(stream, 1)) == [("ADDED", "p")]


@pytest.mark.parametrize("seconds", [1])
async def test_a_watch_ends_quietly_after_its_time(api: Api, namespace: str, seconds: int) -> None:
    start = await revision(api, namespace)
    selection = Selection(namespace=namespace)
    stream = api.client.watch(WIDGETS, selection, resource_version=start, timeout_seconds=seconds)
    async with asyncio.timeout(seconds + EVENT_SECONDS_MAX):
        events = [event async for event in stream]
    assert {event.type for event in events} <= {EventType.BOOKMARK}


async def test_a_long_quiet_watch_is_given_a_bookmark(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    selection = Selection(namespace=namespace)
    start = (await api.client.page(WIDGETS, selection)).resource_version
    # A real server sends one two seconds before the end, of a watch that is not too short.
    seconds = 10 if api.target.name == "real" else 2
    stream = api.client.watch(WIDGETS, selection, resource_version=start, timeout_seconds=seconds)
    async with contextlib.aclosing(stream), asyncio.timeout(seconds + EVENT_SECONDS_MAX):
        event = await anext(stream)
    assert event.type is EventType.BOOKMARK
    assert int(event.resource_version) >= int(start)
