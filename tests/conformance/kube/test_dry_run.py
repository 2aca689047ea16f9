"""A dry run answers as the real thing would, refusals included, and changes nothing."""

import pytest

from lading.ports import kube
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    WIDGETS,
    Api,
    config_map,
    exists,
    in_namespace,
    widget,
)


async def test_a_create_shows_what_would_be_there(api: Api, namespace: str) -> None:
    shown = await api.client.create(WIDGETS, widget(), namespace=namespace, dry_run=True)
    assert shown["spec"] == {"size": 1}
    assert shown["metadata"]["uid"]
    assert not await exists(api, WIDGETS, "one", namespace)


async def test_a_create_is_refused_as_it_would_be(api: Api, namespace: str) -> None:
    with pytest.raises(kube.Invalid, match=r"spec\.size"):
        await api.client.create(WIDGETS, widget(size=-1), namespace=namespace, dry_run=True)
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    with pytest.raises(kube.AlreadyExists):
        await api.client.create(WIDGETS, widget(), namespace=namespace, dry_run=True)


async def test_a_patch_and_an_apply_show_the_result(api: Api, namespace: str) -> None:
    before = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    patch = {"data": {"b": "2"}}
    shown = await api.client.patch(CONFIG_MAPS, "one", patch, namespace=namespace, dry_run=True)
    assert shown["data"] == {"a": "1", "b": "2"}
    assert shown["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    body = in_namespace(config_map(c="3"), namespace)
    shown = await api.client.apply(CONFIG_MAPS, body, field_manager="ann", dry_run=True)
    assert shown["data"] == {"a": "1", "c": "3"}
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == before


async def test_an_update_and_a_delete_change_nothing(api: Api, namespace: str) -> None:
    before = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("PUT", path, {**before, "data": {}}, query={"dryRun": "All"})
    assert answer.status == 200
    await api.client.delete(CONFIG_MAPS, "one", namespace=namespace, dry_run=True)
    answer = await api.call("DELETE", path, query={"dryRun": "All"})
    assert answer.status == 200
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == before


async def test_an_unknown_kind_of_dry_run_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    answer = await api.call("POST", path, config_map(), query={"dryRun": "Some"})
    code, reason, message = answer.refusal
    assert (code, reason) == (422, "Invalid")
    assert 'dryRun: Unsupported value: ["Some"]: supported values: "All"' in message
    assert not await exists(api, CONFIG_MAPS, "one", namespace)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"dryRun": ["All"]}'),
        ("application/yaml", b"{apiVersion: v1, kind: DeleteOptions, dryRun: [All]}"),
        (
            "application/vnd.kubernetes.protobuf",
            b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x05\x2a\x03All",
        ),
    ],
)
async def test_a_dry_run_is_asked_for_in_every_form_that_clients_speak(
    api: Api, namespace: str, content_type: str, body: bytes
) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("DELETE", path, body, headers={"content-type": content_type})
    assert (answer.status, answer.body["status"]) == (200, "Success")
    assert await exists(api, CONFIG_MAPS, "one", namespace)
