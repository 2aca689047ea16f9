"""The three kinds of patch, and what a user sees of a bad one."""

from typing import Any

import pytest

from lading.ports import kube
from lading.ports.kube import PatchType
from tests.conformance.kube.api import (
    CONFIG_MAPS,
    DAEMON_SETS,
    WIDGETS,
    Api,
    config_map,
    widget,
)
from tests.conformance.kube.workloads import daemon_set


async def test_a_merge_patch_sets_removes_and_replaces_lists(api: Api, namespace: str) -> None:
    body = widget(size=2, tags=["a"], settings={"x": "1", "y": "2"})
    await api.client.create(WIDGETS, body, namespace=namespace)
    patch = {"spec": {"size": 3, "tags": ["b"], "settings": {"x": None, "z": "3"}}}
    patched = await api.client.patch(WIDGETS, "one", patch, namespace=namespace)
    assert patched["spec"] == {"size": 3, "tags": ["b"], "settings": {"y": "2", "z": "3"}}


async def test_a_json_patch_runs_its_operations_in_order(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(order=["a", "b"]), namespace=namespace)
    operations = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/order/1", "value": "new"},
        {"op": "add", "path": "/spec/order/-", "value": "last"},
        {"op": "replace", "path": "/spec/size", "value": 5},
        {"op": "copy", "from": "/spec/order/0", "path": "/spec/word"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "1"}},
        {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "2"},
        {"op": "remove", "path": "/spec/order/0"},
    ]
    patched = await api.client.patch(
        WIDGETS, "one", operations, namespace=namespace, patch_type=PatchType.JSON
    )
    assert patched["spec"] == {"size": 5, "order": ["new", "b", "last"], "word": "a"}
    assert patched["metadata"]["annotations"] == {"a/b": "2"}


async def test_a_strategic_patch_merges_lists_by_their_keys(api: Api, namespace: str) -> None:
    await api.client.create(DAEMON_SETS, daemon_set(), namespace=namespace)
    containers = [
        {"name": "main", "env": [{"name": "B", "value": "2"}]},
        {"$patch": "delete", "name": "side"},
        {"name": "new", "image": "new:1"},
    ]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    patched = await api.client.patch(
        DAEMON_SETS, "one", patch, namespace=namespace, patch_type=PatchType.STRATEGIC
    )
    found = patched["spec"]["template"]["spec"]["containers"]
    assert {entry["name"]: entry["image"] for entry in found} == {
        "main": "image:1",
        "new": "new:1",
    }
    main = next(entry for entry in found if entry["name"] == "main")
    assert {entry["name"] for entry in main["env"]} == {"A", "B"}


async def test_a_strategic_patch_can_replace(api: Api, namespace: str) -> None:
    await api.client.create(CONFIG_MAPS, config_map(a="1", b="1"), namespace=namespace)
    patch = {"data": {"$patch": "replace", "c": "1"}}
    patched = await api.client.patch(
        CONFIG_MAPS, "one", patch, namespace=namespace, patch_type=PatchType.STRATEGIC
    )
    assert patched["data"] == {"c": "1"}


async def test_custom_objects_know_no_strategic_patch(api: Api, namespace: str) -> None:
    await api.client.create(WIDGETS, widget(), namespace=namespace)
    path = WIDGETS.path(namespace=namespace, name="one")
    headers = {"content-type": PatchType.STRATEGIC}
    answer = await api.call("PATCH", path, {"spec": {"size": 2}}, headers=headers)
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml"
    )
    assert answer.refusal == (415, "UnsupportedMediaType", message)


@pytest.mark.parametrize(
    ("patch_type", "patch", "code", "problem"),
    [
        (
            PatchType.JSON,
            [{"op": "test", "path": "/data/a", "value": "9"}],
            422,
            "the server rejected our request due to an error in our request",
        ),
        (
            PatchType.JSON,
            [{"op": "remove", "path": "/data/absent"}],
            422,
            "the server rejected our request due to an error in our request",
        ),
        (PatchType.JSON, {"op": "add"}, 400, "error decoding patch: "),
        (PatchType.JSON, b"[", 400, ""),
        (PatchType.MERGE, b"{", 400, "error decoding patch"),
        (PatchType.MERGE, [1], 400, "error decoding patch"),
        (PatchType.MERGE, {"data": {"a": 7}}, 422, ""),
        (PatchType.STRATEGIC, b"{", 400, ""),
        (PatchType.STRATEGIC, {"data": 7}, 422, ""),
    ],
)
async def test_a_bad_patch_is_explained_and_changes_nothing(
    api: Api, namespace: str, patch_type: PatchType, patch: Any, code: int, problem: str
) -> None:
    before = await api.client.create(CONFIG_MAPS, config_map(a="1"), namespace=namespace)
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("PATCH", path, patch, headers={"content-type": patch_type})
    assert answer.refusal[0] == code
    assert problem in answer.refusal[2]
    assert await api.client.get(CONFIG_MAPS, "one", namespace=namespace) == before


async def test_a_patch_of_nothing_is_not_found(api: Api, namespace: str) -> None:
    with pytest.raises(kube.NotFound, match='configmaps "absent" not found'):
        await api.client.patch(CONFIG_MAPS, "absent", {"data": {}}, namespace=namespace)


async def test_an_unknown_kind_of_patch_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace, name="one")
    answer = await api.call("PATCH", path, {}, headers={"content-type": "text/plain"})
    assert answer.refusal[:2] == (415, "UnsupportedMediaType")
