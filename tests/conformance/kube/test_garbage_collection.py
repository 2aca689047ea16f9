"""Dependents follow their owners: in the background, before them, or not at all."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    Document,
    config_map,
    eventually,
    exists,
    gone,
    widget,
)
from tests.conformance.kube.workloads import JOBS, job

HOLD = "conformance.lading.example/hold"


async def family(api: Api, namespace: str, *, blocking: bool = False) -> Document:
    """A widget that owns a ConfigMap of its name."""
    owner = await api.client.create(WIDGETS, widget("owner"), namespace=namespace)
    await dependent(api, namespace, "child", owner, blocking=blocking)
    return owner


async def dependent(
    api: Api, namespace: str, name: str, *owners: Document, blocking: bool = False
) -> Document:
    body = config_map(name)
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocking,
        }
        for owner in owners
    ]
    return await api.client.create(CONFIG_MAPS, body, namespace=namespace)


async def test_in_the_background_the_owner_goes_first(api: Api, namespace: str) -> None:
    await family(api, namespace)
    await api.client.delete(WIDGETS, "owner", namespace=namespace, propagation="Background")
    assert not await exists(api, WIDGETS, "owner", namespace)
    await gone(api, CONFIG_MAPS, "child", namespace)


async def test_in_the_foreground_the_owner_waits_for_its_dependents(
    api: Api, namespace: str
) -> None:
    owner = await api.client.create(WIDGETS, widget("owner"), namespace=namespace)
    await dependent(api, namespace, "child", owner, blocking=True)
    hold = {"metadata": {"finalizers": [HOLD]}}
    await api.client.patch(CONFIG_MAPS, "child", hold, namespace=namespace)
    await api.client.delete(WIDGETS, "owner", namespace=namespace, propagation="Foreground")
    waiting = await api.client.get(WIDGETS, "owner", namespace=namespace)
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert waiting["metadata"]["deletionTimestamp"]

    async def child_is_marked() -> bool:
        child = await api.client.get(CONFIG_MAPS, "child", namespace=namespace)
        return "deletionTimestamp" in child["metadata"]

    await eventually(child_is_marked)
    assert await exists(api, WIDGETS, "owner", namespace)
    free = {"metadata": {"finalizers": None}}
    await api.client.patch(CONFIG_MAPS, "child", free, namespace=namespace)
    await gone(api, WIDGETS, "owner", namespace)
    assert not await exists(api, CONFIG_MAPS, "child", namespace)


async def test_orphans_stay_and_forget_their_owner(api: Api, namespace: str) -> None:
    await family(api, namespace)
    await api.client.delete(WIDGETS, "owner", namespace=namespace, propagation="Orphan")
    await gone(api, WIDGETS, "owner", namespace)
    orphan = await api.client.get(CONFIG_MAPS, "child", namespace=namespace)
    assert not orphan["metadata"].get("ownerReferences")


async def test_a_dependent_of_two_lives_as_long_as_one_of_them(api: Api, namespace: str) -> None:
    first = await api.client.create(WIDGETS, widget("first"), namespace=namespace)
    second = await api.client.create(WIDGETS, widget("second"), namespace=namespace)
    await dependent(api, namespace, "child", first, second)
    await api.client.delete(WIDGETS, "first", namespace=namespace)

    async def only_the_second_is_left() -> bool:
        child = await api.client.get(CONFIG_MAPS, "child", namespace=namespace)
        names = [owner["name"] for owner in child["metadata"]["ownerReferences"]]
        return names == ["second"]

    await eventually(only_the_second_is_left)
    await api.client.delete(WIDGETS, "second", namespace=namespace)
    await gone(api, CONFIG_MAPS, "child", namespace)


async def test_grandchildren_go_too(api: Api, namespace: str) -> None:
    owner = await api.client.create(WIDGETS, widget("owner"), namespace=namespace)
    child = await dependent(api, namespace, "child", owner)
    await dependent(api, namespace, "grandchild", child)
    await api.client.delete(WIDGETS, "owner", namespace=namespace)
    await gone(api, CONFIG_MAPS, "grandchild", namespace)
    await gone(api, CONFIG_MAPS, "child", namespace)


async def test_a_dependent_without_an_owner_is_collected(api: Api, namespace: str) -> None:
    owner = await api.client.create(WIDGETS, widget("owner"), namespace=namespace)
    await api.client.delete(WIDGETS, "owner", namespace=namespace)
    await dependent(api, namespace, "late", owner)
    await gone(api, CONFIG_MAPS, "late", namespace)


async def test_an_owner_reference_must_be_complete(api: Api, namespace: str) -> None:
    body = config_map()
    body["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]
    with pytest.raises(kube.Invalid) as caught:
        await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    (cause,) = caught.value.causes
    assert cause.field == "metadata.ownerReferences.uid"
    assert "must not be empty" in cause.message


async def test_only_one_owner_controls(api: Api, namespace: str) -> None:
    reference = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    body = config_map()
    body["metadata"]["ownerReferences"] = [
        {**reference, "name": "p", "uid": "1"},
        {**reference, "name": "q", "uid": "2"},
    ]
    with pytest.raises(kube.Invalid, match="Only one reference can have Controller set to true"):
        await api.client.create(CONFIG_MAPS, body, namespace=namespace)


async def test_a_job_that_goes_without_a_word_leaves_what_it_owns(api: Api, namespace: str) -> None:
    owner = await api.client.create(JOBS, job(suspend=True), namespace=namespace)
    await dependent(api, namespace, "child", {**owner, "apiVersion": "batch/v1", "kind": "Job"})
    answer = await api.call("DELETE", JOBS.path(namespace=namespace, name="one"))
    assert "child pods are preserved by default when jobs are deleted" in answer.warning
    await gone(api, JOBS, "one", namespace)
    child = await api.client.get(CONFIG_MAPS, "child", namespace=namespace)
    assert "ownerReferences" not in child["metadata"]
