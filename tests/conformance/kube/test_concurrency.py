"""Optimistic concurrency: of two writers that read the same, one has to read again."""

import asyncio

import pytest

from lading.ports import kube
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, config_map, widget

STALE = (
    'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
    "please apply your changes to the latest version and try again"
)


async def test_a_stale_update_is_a_conflict_and_changes_nothing(api: Api, namespace: str) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    updated = await api.call("PUT", path, {**read, "data": {"a": "2"}})
    assert updated.status == 200
    answer = await api.call("PUT", path, {**read, "data": {"a": "3"}})
    assert answer.refusal == (409, "Conflict", STALE)
    assert (await api.client.get(CONFIG_MAPS, "one", namespace=namespace)) == updated.body


async def test_a_patch_with_a_stale_resource_version_is_a_conflict(
    api: Api, namespace: str
) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    version = read["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)
    with pytest.raises(kube.Conflict, match="the object has been modified"):
        await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)


async def test_an_apply_of_a_status_with_a_stale_resource_version_is_a_conflict(
    api: Api, namespace: str
) -> None:
    read = await api.client.create(WIDGETS, widget(), namespace=namespace)
    name, version = read["metadata"]["name"], read["metadata"]["resourceVersion"]

    async def apply(*, ready: bool) -> None:
        metadata = {"name": name, "namespace": namespace, "resourceVersion": version}
        body = {
            "apiVersion": read["apiVersion"],
            "kind": read["kind"],
            "metadata": metadata,
            "status": {"ready": ready},
        }
        await api.client.apply(
            WIDGETS, body, field_manager="someone", force=True, subresource="status"
        )

    await apply(ready=True)
    with pytest.raises(kube.Conflict, match="the object has been modified"):
        await apply(ready=False)
    found = await api.client.get(WIDGETS, name, namespace=namespace)
    assert found["status"] == {"ready": True}


async def test_of_many_writers_at_once_exactly_one_wins(api: Api, namespace: str) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(a="0"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answers = await asyncio.gather(
        *(api.call("PUT", path, {**read, "data": {"a": str(number)}}) for number in range(1, 9))
    )
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    (winner,) = [answer.body for answer in answers if answer.status == 200]
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == winner


async def test_a_write_that_changes_nothing_keeps_the_resource_version(
    api: Api, namespace: str
) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    same = await api.client.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=namespace)
    assert same["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]


async def test_a_built_in_may_be_updated_without_a_resource_version(
    api: Api, namespace: str
) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    assert (await api.call("PUT", path, config_map(a="2"))).body["data"] == {"a": "2"}


async def test_a_custom_object_may_not(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    path = WIDGETS.path(namespace=namespace, name="one")
    answer = await api.call("PUT", path, widget(size=2))
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert message == (
        'widgets.conformance.lading.example "one" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update"
    )


async def test_an_update_cannot_change_who_an_object_is(api: Api, namespace: str) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    other = {**read, "metadata": {**read["metadata"], "uid": "other"}}
    answer = await api.call("PUT", path, other)
    assert answer.status == 409
    assert "Precondition failed: UID in precondition: other" in answer.body["message"]
    renamed = {**read, "metadata": {**read["metadata"], "name": "two"}}
    answer = await api.call("PUT", path, renamed)
    message = "the name of the object (two) does not match the name on the URL (one)"
    assert answer.refusal == (400, "BadRequest", message)


@pytest.mark.parametrize("wrong", [{"uid": "other"}, {"resource_version": "1"}])
async def test_a_delete_with_a_wrong_precondition_deletes_nothing(
    api: Api, namespace: str, wrong: dict[str, str]
) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    with pytest.raises(kube.Conflict, match="recondition"):
        await api.client.delete(CONFIG_MAPS, "one", namespace=namespace, **wrong)  # type: ignore[arg-type]
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == read


async def test_a_delete_with_the_right_preconditions_deletes(api: Api, namespace: str) -> None:
    read = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    metadata = read["metadata"]
    await api.client.delete(
        CONFIG_MAPS,
        "one",
        namespace=namespace,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    with pytest.raises(kube.NotFound):
        await api.client.get(CONFIG_MAPS, "one", namespace=namespace)
