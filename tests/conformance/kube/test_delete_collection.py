"""Deleting many at once: exactly what was selected."""

from lading.ports.kube import Selection
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, widget


async def fill(api: Api, namespace: str) -> None:
    for name, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        body = widget(name)
        body["metadata"]["labels"] = {"colour": colour}
        await api.client.create(WIDGETS, body, namespace=namespace)


async def left(api: Api, namespace: str) -> list[str]:
    page = await api.client.page(WIDGETS, Selection(namespace=namespace))
    return [item["metadata"]["name"] for item in page.items]


async def test_a_label_selects(api: Api, namespace: str) -> None:
    await fill(api, namespace)
    selection = Selection(namespace=namespace, label_selector="colour=red")
    await api.client.delete_collection(WIDGETS, selection)
    assert await left(api, namespace) == ["c"]


async def test_a_field_selects(api: Api, namespace: str) -> None:
    await fill(api, namespace)
    selection = Selection(namespace=namespace, field_selector="metadata.name!=b")
    await api.client.delete_collection(WIDGETS, selection)
    assert await left(api, namespace) == ["b"]


async def test_a_namespace_is_emptied_and_others_are_not(api: Api, namespace: str) -> None:
    await fill(api, namespace)
    await api.client.delete_collection(WIDGETS, Selection(namespace="default"))
    assert await left(api, namespace) == ["a", "b", "c"]
    await api.client.delete_collection(WIDGETS, Selection(namespace=namespace))
    assert await left(api, namespace) == []


async def test_a_dry_run_deletes_nothing(api: Api, namespace: str) -> None:
    await fill(api, namespace)
    await api.client.delete_collection(WIDGETS, Selection(namespace=namespace), dry_run=True)
    assert await left(api, namespace) == ["a", "b", "c"]


async def test_all_namespaces_at_once_are_refused(api: Api) -> None:
    answer = await api.call("DELETE", CONFIG_MAPS.path())
    assert answer.refusal[:2] == (405, "MethodNotAllowed")


async def test_what_is_held_is_marked(api: Api, namespace: str) -> None:
    body = widget("held")
    body["metadata"]["finalizers"] = ["conformance.lading.example/hold"]
    await api.client.create(WIDGETS, body, namespace=namespace)
    await api.client.delete_collection(WIDGETS, Selection(namespace=namespace))
    held = await api.client.get(WIDGETS, "held", namespace=namespace)
    assert held["metadata"]["deletionTimestamp"]
    free = {"metadata": {"finalizers": None}}
    await api.client.patch(WIDGETS, "held", free, namespace=namespace)
    assert await left(api, namespace) == []


async def test_a_limit_is_kept_and_the_rest_can_be_deleted_later(api: Api, namespace: str) -> None:
    await fill(api, namespace)
    path = WIDGETS.path(namespace=namespace)
    first = (await api.call("DELETE", path, query={"limit": "1"})).body
    assert [item["metadata"]["name"] for item in first["items"]] == ["a"]
    assert first["metadata"]["remainingItemCount"] == 2
    assert await left(api, namespace) == ["b", "c"]
    await api.client.delete(WIDGETS, "b", namespace=namespace)
    token = first["metadata"]["continue"]
    await api.call("DELETE", path, query={"limit": "5", "continue": token})
    assert await left(api, namespace) == []
