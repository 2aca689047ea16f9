"""An object's life: what a server adds to it, and what it says when it is not there."""

import re

import pytest

from lading.ports import kube
from tests.conformance.kube.api import CONFIG_MAPS, WIDGETS, Api, config_map, widget


async def test_a_new_object_gets_an_identity(api: Api, namespace: str) -> None:
    created = await api.client.create(CONFIG_MAPS, config_map(a="b"), namespace=namespace)
    metadata = created["metadata"]
    assert (created["apiVersion"], created["kind"]) == ("v1", "ConfigMap")
    assert (metadata["name"], metadata["namespace"]) == ("one", namespace)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0
    assert created["data"] == {"a": "b"}
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == created


async def test_what_only_the_server_may_say_is_not_taken_from_the_client(
    api: Api, namespace: str
) -> None:
    body = config_map()
    body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    created = await api.client.create(CONFIG_MAPS, body, namespace=namespace)
    assert created["metadata"]["uid"] != "mine"
    assert not created["metadata"]["creationTimestamp"].startswith("2001")


async def test_a_resource_version_is_refused_on_create(api: Api, namespace: str) -> None:
    body = config_map()
    body["metadata"]["resourceVersion"] = "7"
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, body)
    message = "resourceVersion should not be set on objects to be created"
    assert answer.status == 500
    assert answer.body["message"] == message


async def test_a_name_is_taken_once(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), config_map())
    assert answer.refusal == (409, "AlreadyExists", 'configmaps "one" already exists')
    assert answer.body["details"] == {"name": "one", "kind": "configmaps"}


async def test_a_custom_object_is_named_with_its_group_in_errors(api: Api, namespace: str) -> None:
    answer = await api.call("GET", WIDGETS.path(namespace=namespace, name="absent"))
    message = 'widgets.conformance.lading.example "absent" not found'
    assert answer.refusal == (404, "NotFound", message)
    details = {"name": "absent", "group": "conformance.lading.example", "kind": "widgets"}
    assert answer.body["details"] == details


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_absent_object_is_not_found(api: Api, namespace: str, method: str) -> None:
    answer = await api.call(method, CONFIG_MAPS.path(namespace=namespace, name="absent"))
    assert answer.refusal == (404, "NotFound", 'configmaps "absent" not found')


async def test_generate_name_makes_names(api: Api, namespace: str) -> None:
    body = {"metadata": {"generateName": "many-"}}
    names = set()
    for _ in range(5):
        created = await api.client.create(CONFIG_MAPS, body, namespace=namespace)
        names.add(created["metadata"]["name"])
        assert created["metadata"]["generateName"] == "many-"
    assert len(names) == 5
    assert all(re.fullmatch(r"many-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


async def test_an_object_needs_a_name(api: Api, namespace: str) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), {"metadata": {}})
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert "name or generateName is required" in message


async def test_a_bad_name_is_explained(api: Api, namespace: str) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), config_map("No_Good"))
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(
        'ConfigMap "No_Good" is invalid: metadata.name: Invalid value: "No_Good": '
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters"
    )
    (cause,) = answer.body["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "metadata.name")


async def test_a_bad_label_is_explained(api: Api, namespace: str) -> None:
    body = config_map()
    body["metadata"]["labels"] = {"ok": "not ok!"}
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), body)
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert 'metadata.labels: Invalid value: "not ok!": a valid label must be' in message


async def test_a_namespace_must_exist_and_agree(api: Api, namespace: str, unique: str) -> None:
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=unique), config_map())
    assert answer.refusal == (404, "NotFound", f'namespaces "{unique}" not found')
    body = config_map()
    body["metadata"]["namespace"] = "elsewhere"
    answer = await api.call("POST", CONFIG_MAPS.path(namespace=namespace), body)
    message = (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    assert answer.refusal == (400, "BadRequest", message)


async def test_a_delete_answers_with_what_was_deleted(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    created = await api.client.create(CONFIG_MAPS, config_map(), namespace=namespace)
    answer = await api.call("DELETE", CONFIG_MAPS.path(namespace=namespace, name="one"))
    details = {"name": "one", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert (answer.body["kind"], answer.body["status"]) == ("Status", "Success")
    assert answer.body["details"] == details
    with pytest.raises(kube.NotFound):
        await api.client.get(CONFIG_MAPS, "one", namespace=namespace)
    await api.client.get(WIDGETS, "one", namespace=namespace)
