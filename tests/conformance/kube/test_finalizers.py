"""Finalizers hold an object until each of them has been taken off."""

import pytest

from lading.ports import kube
from lading.ports.kube import Selection
from tests.conformance.kube.api import CONFIG_MAPS, Api, Document, config_map, exists
from tests.conformance.kube.watching import following, types_and_names, watching

HOLD = "conformance.lading.example/hold"
OTHER = "conformance.lading.example/other"


async def held(api: Api, namespace: str, *finalizers: str) -> Document:
    body = config_map(a="1")
    body["metadata"]["finalizers"] = list(finalizers)
    return await api.client.create(CONFIG_MAPS, body, namespace=namespace)


async def keep_only(api: Api, namespace: str, *finalizers: str) -> None:
    patch = {"metadata": {"finalizers": list(finalizers)}}
    await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)


async def test_a_held_object_is_marked_and_stays(api: Api, namespace: str) -> None:
    await held(api, namespace, HOLD, OTHER)
    answer = await api.call("DELETE", CONFIG_MAPS.path(namespace=namespace, name="one"))
    metadata = answer.body["metadata"]
    assert answer.body["kind"] == "ConfigMap"
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    await keep_only(api, namespace, OTHER)
    assert await exists(api, CONFIG_MAPS, "one", namespace)
    await keep_only(api, namespace)
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


async def test_deleting_twice_keeps_the_first_mark(api: Api, namespace: str) -> None:
    await held(api, namespace, HOLD)
    await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
    first = await api.client.get(CONFIG_MAPS, "one", namespace=namespace)
    await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == first
    await keep_only(api, namespace)


async def test_a_watcher_sees_the_mark_and_then_the_end(api: Api, namespace: str) -> None:
    created = await held(api, namespace, HOLD)
    selection = Selection(namespace=namespace, field_selector="metadata.name=one")
    version = created["metadata"]["resourceVersion"]
    async with watching(api, CONFIG_MAPS, selection, resource_version=version) as stream:
        await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
        await keep_only(api, namespace)
        events = await following(stream, 2)
    assert types_and_names(events) == [("MODIFIED", "one"), ("DELETED", "one")]
    assert events[0].object["metadata"]["deletionTimestamp"]


async def test_a_dying_object_takes_no_new_finalizers(api: Api, namespace: str) -> None:
    await held(api, namespace, HOLD)
    await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
    with pytest.raises(kube.Invalid, match="no new finalizers can be added") as caught:
        await keep_only(api, namespace, HOLD, OTHER)
    cause = caught.value.causes[0]
    assert (cause.reason, cause.field) == ("FieldValueForbidden", "metadata.finalizers")
    await keep_only(api, namespace)


async def test_a_dying_object_can_still_be_changed_but_not_revived(
    api: Api, namespace: str
) -> None:
    await held(api, namespace, HOLD)
    await api.client.delete(CONFIG_MAPS, "one", namespace=namespace)
    patch = {"metadata": {"deletionTimestamp": None}, "data": {"a": "2"}}
    patched = await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)
    assert patched["data"] == {"a": "2"}
    assert patched["metadata"]["deletionTimestamp"]
    await keep_only(api, namespace)


@pytest.mark.parametrize(
    ("name", "field", "problem"),
    [
        ("no good", "metadata.finalizers", "name part must consist of alphanumeric characters"),
        ("hold", "metadata.finalizers[0]", "neither a standard finalizer name nor is it fully"),
    ],
)
async def test_a_finalizer_needs_a_qualified_name(
    api: Api, namespace: str, name: str, field: str, problem: str
) -> None:
    with pytest.raises(kube.Invalid) as caught:
        await held(api, namespace, name)
    cause = caught.value.causes[0]
    assert cause.field == field
    assert problem in cause.message
