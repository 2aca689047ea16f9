"""Lists in pages: nothing twice, nothing left out, all of one revision."""

import pytest
import pytest_asyncio

from lading.ports.kube import Selection
from tests.conformance.kube.api import WIDGETS, Api, widget

NAMES = [f"w-{number:02}" for number in range(10)]


@pytest_asyncio.fixture(loop_scope="session")
async def ten(api: Api, namespace: str) -> Selection:
    for name in NAMES:
        body = widget(name)
        body["metadata"]["labels"] = {"even": str(int(name[-2:]) % 2 == 0).lower()}
        await api.client.create(WIDGETS, body, namespace=namespace)
    return Selection(namespace=namespace)


@pytest.mark.parametrize("limit", [1, 3, 5, 10, 11])
async def test_pages_together_are_the_whole(api: Api, ten: Selection, limit: int) -> None:
    found = [item async for item in api.client.each(WIDGETS, ten, limit=limit)]
    assert [item["metadata"]["name"] for item in found] == NAMES


async def test_a_page_tells_what_is_left(api: Api, ten: Selection) -> None:
    first = await api.client.page(WIDGETS, ten, limit=4)
    assert (len(first.items), first.remaining_item_count) == (4, 6)
    second = await api.client.page(WIDGETS, ten, limit=6, continue_token=first.continue_token)
    assert (second.continue_token, second.remaining_item_count) == ("", None)
    assert second.resource_version == first.resource_version


async def test_later_pages_show_the_revision_of_the_first(api: Api, ten: Selection) -> None:
    first = await api.client.page(WIDGETS, ten, limit=4)
    await api.client.delete(WIDGETS, NAMES[9], namespace=ten.namespace)
    await api.client.create(WIDGETS, widget("w-04b"), namespace=ten.namespace)
    patch = {"spec": {"size": 99}}
    await api.client.patch(WIDGETS, NAMES[5], patch, namespace=ten.namespace)
    rest = await api.client.page(WIDGETS, ten, limit=20, continue_token=first.continue_token)
    assert [item["metadata"]["name"] for item in rest.items] == NAMES[4:]
    assert rest.items[1]["spec"]["size"] == 1
    assert rest.resource_version == first.resource_version


async def test_pages_of_a_selection_do_not_count_the_rest(api: Api, ten: Selection) -> None:
    selection = Selection(namespace=ten.namespace, label_selector="even=true")
    page = await api.client.page(WIDGETS, selection, limit=2)
    assert page.remaining_item_count is None
    found = [item async for item in api.client.each(WIDGETS, selection, limit=2)]
    assert [item["metadata"]["name"] for item in found] == NAMES[::2]


async def test_no_limit_gives_everything(api: Api, ten: Selection) -> None:
    answer = await api.call("GET", WIDGETS.path(namespace=ten.namespace))
    assert len(answer.body["items"]) == 10
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("WidgetList", WIDGETS.api_version)
    assert answer.body["metadata"].get("continue", "") == ""


async def test_all_namespaces_are_listed_together(api: Api, ten: Selection) -> None:
    found = [item async for item in api.client.each(WIDGETS, limit=3)]
    own = [item for item in found if item["metadata"]["namespace"] == ten.namespace]
    assert [item["metadata"]["name"] for item in own] == NAMES


@pytest.mark.parametrize("token", ["nonsense", "bm9uc2Vuc2U"])
async def test_an_unknown_token_is_refused(api: Api, ten: Selection, token: str) -> None:
    query = {"limit": "2", "continue": token}
    answer = await api.call("GET", WIDGETS.path(namespace=ten.namespace), query=query)
    code, reason, message = answer.refusal
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("invalid continue token: continue key is not valid: ")


async def test_a_limit_that_is_no_number_is_refused(api: Api, namespace: str) -> None:
    query = {"limit": "many"}
    answer = await api.call("GET", WIDGETS.path(namespace=namespace), query=query)
    assert answer.refusal[:2] == (400, "BadRequest")
    assert 'parsing "many": invalid syntax' in answer.refusal[2]
