"""Server-side apply: what a request must carry, and where status is applied."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    Document,
    config_map,
    in_namespace,
    managers,
    widget,
)

APPLY = {"content-type": "application/apply-patch+yaml"}


async def test_a_field_manager_is_required(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("PATCH", path, config_map(), headers=APPLY)
    message = (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: '
        "is required for apply patch"
    )
    assert answer.refusal == (422, "Invalid", message)


async def test_yaml_is_taken(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  a: '1'\n"
    answer = await api.call("PATCH", path, body, headers=APPLY, query={"fieldManager": "ann"})
    assert (answer.status, answer.body["data"]) == (201, {"a": "1"})
    answer = await api.call("PATCH", path, body, headers=APPLY, query={"fieldManager": "ann"})
    assert answer.status == 200


async def test_managed_fields_must_be_left_to_the_server(api: Api, namespace: str) -> None:
    body = in_namespace(config_map(), namespace)
    body["metadata"]["managedFields"] = [{"manager": "me"}]
    with pytest.raises(kube.Invalid, match=r"metadata\.managedFields must be nil") as caught:
        await api.client.apply(CONFIG_MAPS, body, field_manager="ann")
    assert caught.value.code == 400


async def test_the_kind_must_be_the_one_of_the_path(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    answer = await api.call("PATCH", path, body, headers=APPLY, query={"fieldManager": "ann"})
    assert answer.status in (400, 500)
    assert "Secret" in answer.body["message"]


async def test_the_name_must_be_the_one_of_the_path(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    body = config_map("two")
    answer = await api.call("PATCH", path, body, headers=APPLY, query={"fieldManager": "ann"})
    assert answer.status == 400
    assert "does not match" in answer.body["message"]


async def test_status_is_applied_on_its_own(api: Api, namespace: str) -> None:
    body = in_namespace(widget(size=3), namespace)
    await api.client.apply(WIDGETS, {**body, "status": {"ready": True}}, field_manager="ann")
    found = await api.client.get(WIDGETS, "one", namespace=namespace)
    assert "status" not in found
    status = {**in_namespace(widget(size=9), namespace), "status": {"ready": True}}
    applied = await api.client.apply(
        WIDGETS, status, field_manager="controller", subresource="status"
    )
    assert applied["status"] == {"ready": True}
    assert applied["spec"]["size"] == 3
    assert managers(applied) == {
        "ann": {"f:spec": {"f:size": {}}},
        "controller/status": {"f:status": {"f:ready": {}}},
    }


async def test_status_cannot_be_applied_to_what_is_not_there(api: Api, namespace: str) -> None:
    body = {**in_namespace(widget("absent"), namespace), "status": {"ready": True}}
    with pytest.raises(kube.NotFound):
        await api.client.apply(WIDGETS, body, field_manager="ann", subresource="status")


async def test_a_stale_resource_version_is_a_conflict(api: Api, namespace: str) -> None:
    body = in_namespace(config_map(a="1"), namespace)
    first = await api.client.apply(CONFIG_MAPS, body, field_manager="ann")
    await api.client.apply(
        CONFIG_MAPS, in_namespace(config_map(a="2"), namespace), field_manager="ann"
    )
    body["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    with pytest.raises(kube.Conflict, match="the object has been modified"):
        await api.client.apply(CONFIG_MAPS, body, field_manager="ann")


async def test_create_and_update_are_recorded_as_owners_too(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    query = {"fieldManager": "ann"}
    created = await api.call("POST", path, config_map(a="1", b="1"), query=query)
    (entry,) = created.body["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("ann", "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}
    updated = {**created.body, "data": {"a": "2", "b": "1"}}
    answer = await api.call("PUT", f"{path}/one", updated, query={"fieldManager": "bob"})
    assert managers(answer.body) == {
        "ann": {"f:data": {".": {}, "f:b": {}}},
        "bob": {"f:data": {"f:a": {}}},
    }


async def test_an_empty_entry_clears_the_owners(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    patch: Document = {"metadata": {"managedFields": [{}]}}
    cleared = await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace)
    assert "managedFields" not in cleared["metadata"]
