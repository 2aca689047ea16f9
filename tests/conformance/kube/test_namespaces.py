"""A namespace: what it has from the beginning, and how everything in it ends with it."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    NAMESPACES,
    WIDGETS,
    Api,
    config_map,
    eventually,
    exists,
    gone,
    widget,
)

HOLD = "conformance.lading.example/hold"


async def test_a_new_namespace_is_active_and_labelled(api: Api, namespace: str) -> None:
    found = await api.client.get(NAMESPACES, namespace)
    assert found["status"]["phase"] == "Active"
    assert found["spec"]["finalizers"] == ["kubernetes"]
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == namespace


@pytest.mark.parametrize("label", ["other", None])
async def test_a_namespace_keeps_the_label_with_its_name(
    api: Api, namespace: str, label: str | None
) -> None:
    labels = {"kubernetes.io/metadata.name": label, "mine": "yes"}
    patched = await api.client.patch(NAMESPACES, namespace, {"metadata": {"labels": labels}})
    expected = {"kubernetes.io/metadata.name": namespace, "mine": "yes"}
    assert patched["metadata"]["labels"] == expected


async def test_deleting_a_namespace_deletes_what_is_in_it(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    await api.client.delete(NAMESPACES, namespace)
    await gone(api, NAMESPACES, namespace)
    assert not await exists(api, CONFIG_MAPS, "one", namespace)
    assert not await exists(api, WIDGETS, "one", namespace)


async def test_a_namespace_waits_for_what_is_held_in_it(api: Api, namespace: str) -> None:
    body = config_map()
    body["metadata"]["finalizers"] = [HOLD]
    await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    await api.client.delete(NAMESPACES, namespace)

    async def the_held_one_is_marked() -> bool:
        found = await api.client.get(CONFIG_MAPS, "one", namespace=namespace)
        return "deletionTimestamp" in found["metadata"]

    await eventually(the_held_one_is_marked)
    waiting = await api.client.get(NAMESPACES, namespace)
    assert waiting["status"]["phase"] == "Terminating"
    assert waiting["metadata"]["deletionTimestamp"]
    patch = {"metadata": {"finalizers": None}}
    await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)
    await gone(api, NAMESPACES, namespace)


async def test_nothing_new_begins_in_an_ending_namespace(api: Api, namespace: str) -> None:
    body = config_map("held")
    body["metadata"]["finalizers"] = [HOLD]
    await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    await api.client.delete(NAMESPACES, namespace)
    with pytest.raises(kube.Forbidden) as caught:
        await api.client.create(CONFIG_MAPS, config_map("late"), namespace=namespace)
    assert caught.value.message == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated"
    )
    (cause,) = caught.value.causes
    assert (cause.reason, cause.field) == ("NamespaceTerminating", "metadata.namespace")
    patch = {"metadata": {"finalizers": None}}
    await api.client.patch(CONFIG_MAPS, "held", patch, namespace=namespace)


async def test_a_namespace_name_is_one_label(api: Api) -> None:
    with pytest.raises(kube.Invalid, match="must not contain dots") as caught:
        await api.client.create(NAMESPACES, {"metadata": {"name": "a.b"}})
    assert caught.value.causes[0].field == "metadata.name"


async def test_the_first_namespaces_are_there(api: Api) -> None:
    for name in ("default", "kube-system"):
        assert await exists(api, NAMESPACES, name)
