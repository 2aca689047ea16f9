"""What a revision means: old ones are gone, future ones are not there yet, nonsense is refused."""

import asyncio

import pytest

from lading.ports import kube
from lading.ports.kube import Selection
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, Document, config_map, widget


async def forgotten(api: Api, namespace: str) -> str:
    """A continue token of a revision that the server has been made to forget."""
    if api.target.compact is None:
        pytest.skip("the history of this cluster is out of reach")
    for name in ("a", "b", "c"):
        await api.client.create(WIDGETS, widget(name), namespace=namespace)
    page = await api.client.page(WIDGETS, Selection(namespace=namespace), limit=1)
    newest: Document = {}
    for size in range(3):
        patch = {"spec": {"size": size}}
        newest = await api.client.patch(WIDGETS, "a", patch, namespace=namespace)
    await api.target.compact(newest["metadata"]["resourceVersion"])
    return page.continue_token


async def test_a_list_at_a_forgotten_revision_is_gone(api: Api, namespace: str) -> None:
    await forgotten(api, namespace)
    query = {"resourceVersion": "2", "resourceVersionMatch": "Exact", "limit": "2"}
    answer = await api.call("GET", WIDGETS.path(namespace=namespace), query=query)
    code, reason, message = answer.refusal
    assert (code, reason) == (410, "Expired")
    assert message == "The resourceVersion for the provided list is too old."


async def test_a_page_of_a_forgotten_revision_is_gone(api: Api, namespace: str) -> None:
    token = await forgotten(api, namespace)
    with pytest.raises(kube.Gone, match="continue parameter is too old") as caught:
        await api.client.page(
            WIDGETS, Selection(namespace=namespace), limit=1, continue_token=token
        )
    assert caught.value.reason == "Expired"


async def test_a_watch_from_before_the_history_is_gone(api: Api, namespace: str) -> None:
    await forgotten(api, namespace)
    selection = Selection(namespace=namespace)
    stream = api.client.watch(WIDGETS, selection, resource_version="1", timeout_seconds=5)
    with pytest.raises(kube.Gone, match="too old resource version: 1 ") as caught:
        _ = [event async for event in stream]
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


async def test_a_list_at_an_exact_revision_is_the_past(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    before = await api.client.page(WIDGETS, Selection(namespace=namespace))
    await api.client.delete(WIDGETS, "one", namespace=namespace)
    query = {"resourceVersion": before.resource_version, "resourceVersionMatch": "Exact"}
    answer = await api.call("GET", WIDGETS.path(namespace=namespace), query=query)
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["one"]
    assert answer.body["metadata"]["resourceVersion"] == before.resource_version


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
async def test_a_list_has_the_revision_that_it_shows(
    api: Api, namespace: str, query: dict[str, str]
) -> None:
    created = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    version = created["metadata"]["resourceVersion"]
    not_older = {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
    answer = await api.call("GET", CONFIG_MAPS.path(namespace=namespace), query=query or not_older)
    assert int(answer.body["metadata"]["resourceVersion"]) > 0
    if not query:
        assert int(answer.body["metadata"]["resourceVersion"]) >= int(version)
        assert "one" in [item["metadata"]["name"] for item in answer.body["items"]]


async def test_a_revision_that_is_no_number_is_refused(api: Api, namespace: str) -> None:
    path = WIDGETS.path(namespace=namespace)
    answer = await api.call("GET", path, query={"resourceVersion": "soon"})
    message = (
        'invalid resource version: resourceVersion: Invalid value: "soon": '
        'strconv.ParseUint: parsing "soon": invalid syntax'
    )
    assert answer.refusal == (400, "BadRequest", message)
    answer = await api.call("GET", path, query={"resourceVersion": "soon", "watch": "true"})
    assert 'Invalid value: "soon"' in answer.refusal[2]


async def test_a_list_at_a_future_revision_asks_to_come_back(api: Api, namespace: str) -> None:
    query = {"resourceVersion": "999999999", "resourceVersionMatch": "Exact", "limit": "1"}
    async with asyncio.timeout(30):
        answer = await api.call("GET", WIDGETS.path(namespace=namespace), query=query)
    code, reason, message = answer.refusal
    assert (code, reason) == (504, "Timeout")
    assert message.startswith("Timeout: Too large resource version: 999999999, current: ")
