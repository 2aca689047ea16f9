"""Status is written at its own address, and the generation counts changes of what is wanted."""

from tests.conformance.kube.api import (
    CONFIG_MAPS,
    DAEMON_SETS,
    WIDGETS,
    Api,
    config_map,
    widget,
)
from tests.conformance.kube.workloads import daemon_set


async def test_status_is_dropped_on_create_and_on_update(api: Api, namespace: str) -> None:
    body = {**widget(size=1), "status": {"ready": True}}
    created = await api.client.create(WIDGETS, body, namespace=namespace)
    assert "status" not in created
    patch = {"spec": {"size": 2}, "status": {"ready": True}}
    patched = await api.client.patch(WIDGETS, "one", patch, namespace=namespace)
    assert patched["spec"]["size"] == 2
    assert "status" not in patched


async def test_the_status_address_writes_only_status(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(size=1), namespace=namespace)
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"size": 50},
        "status": {"ready": True, "count": 3},
    }
    patched = await api.client.patch(
        WIDGETS, "one", patch, namespace=namespace, subresource="status"
    )
    assert patched["spec"]["size"] == 1
    assert patched["status"] == {"ready": True, "count": 3}
    assert "labels" not in patched["metadata"]
    path = WIDGETS.path(namespace=namespace, name="one", subresource="status")
    replaced = await api.call("PUT", path, {**patched, "status": {"ready": False}})
    assert replaced.body["status"] == {"ready": False}
    read = await api.client.get(WIDGETS, "one", namespace=namespace, subresource="status")
    assert read == replaced.body


async def test_the_generation_counts_changes_of_the_spec(api: Api, namespace: str) -> None:
    created = await api.client.create(WIDGETS, widget(size=1), namespace=namespace)
    assert created["metadata"]["generation"] == 1
    steps = [
        ({"spec": {"size": 2}}, "", 2),
        ({"metadata": {"labels": {"a": "b"}}}, "", 2),
        ({"metadata": {"annotations": {"a": "b"}}}, "", 2),
        ({"status": {"ready": True}}, "status", 2),
        ({"spec": {"size": 2}}, "", 2),
        ({"spec": {"size": 3}}, "", 3),
    ]
    for patch, subresource, expected in steps:
        patched = await api.client.patch(
            WIDGETS, "one", patch, namespace=namespace, subresource=subresource
        )
        assert patched["metadata"]["generation"] == expected, patch


async def test_a_generation_cannot_be_set(api: Api, namespace: str) -> None:
    body = widget(size=1)
    body["metadata"]["generation"] = 70
    created = await api.client.create(WIDGETS, body, namespace=namespace)
    assert created["metadata"]["generation"] == 1
    patch = {"metadata": {"generation": 90}}
    patched = await api.client.patch(WIDGETS, "one", patch, namespace=namespace)
    assert patched["metadata"]["generation"] == 1


async def test_a_deletion_that_waits_counts_as_a_change(api: Api, namespace: str) -> None:
    body = widget()
    body["metadata"]["finalizers"] = ["conformance.lading.example/hold"]
    await api.client.create(WIDGETS, body, namespace=namespace)
    await api.client.delete(WIDGETS, "one", namespace=namespace)
    waiting = await api.client.get(WIDGETS, "one", namespace=namespace)
    assert waiting["metadata"]["generation"] == 2
    await api.client.patch(WIDGETS, "one", {"metadata": {"finalizers": None}}, namespace=namespace)


async def test_built_in_kinds_with_a_spec_have_one_too(api: Api, namespace: str) -> None:
    created = await api.client.create(DAEMON_SETS, daemon_set(), namespace=namespace)
    assert created["metadata"]["generation"] == 1
    patch = {"spec": {"minReadySeconds": 5}}
    patched = await api.client.patch(DAEMON_SETS, "one", patch, namespace=namespace)
    assert patched["metadata"]["generation"] == 2


async def test_kinds_without_a_spec_have_none(api: Api, namespace: str) -> None:
    created = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    assert "generation" not in created["metadata"]


async def test_what_has_no_status_has_no_address_for_it(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one", subresource="status")
    answer = await api.call("GET", path)
    message = "the server could not find the requested resource"
    assert answer.refusal == (404, "NotFound", message)
