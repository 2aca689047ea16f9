"""Answers of the core to requests that the conformance suite does not send."""

import pytest

from lading.embedded.kube.storage.memory import MemoryStorage
from tests.embedded.kube.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    TOKEN,
    Cluster,
    config_map,
    decoded,
    definition,
    widget,
)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version"])
async def test_health_and_version_need_no_token(path: str) -> None:
    response = await Cluster().call("GET", path, authorization="")
    assert response.status == 200


@pytest.mark.parametrize("path", ["/api", "/apis", "/openapi/v3", CONFIG_MAPS, "/nothing"])
@pytest.mark.parametrize("header", ["", "Bearer wrong", f"Basic {TOKEN}", f"Bearer{TOKEN}"])
async def test_everything_else_needs_one(path: str, header: str) -> None:
    response = await Cluster().call("GET", path, authorization=header)
    assert response.status == 401


@pytest.mark.parametrize(
    "path", ["/foo", "/apis/nowhere.example/v1/things", "/api/v9/pods", "/openapi/v3/api/v9"]
)
async def test_a_path_to_nothing_is_plainly_not_found(path: str) -> None:
    response = await Cluster().call("GET", path)
    assert (response.status, response.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/things",
        "/api/v1/configmaps/a",
        "/api/v1/namespaces/default/nodes",
        f"{CONFIG_MAPS}/a/status",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        f"{CONFIG_MAPS}/a/b/c",
    ],
)
async def test_a_resource_that_is_not_served_is_not_found(path: str) -> None:
    response = await Cluster().call("GET", path)
    assert decoded(response)["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS"])
async def test_a_collection_cannot_be_overwritten(method: str) -> None:
    assert (await Cluster().call(method, CONFIG_MAPS, {})).status == 405


async def test_uids_come_from_the_source_that_was_given() -> None:
    cluster = Cluster()
    created = await cluster.create(CONFIG_MAPS, config_map("a"))
    assert created["metadata"]["uid"].startswith("uid-")


async def test_a_failure_of_the_server_is_an_error_and_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    monkeypatch.setattr(MemoryStorage, "get", lambda self, key: 1 // 0)
    failed = await cluster.call("GET", f"{CONFIG_MAPS}/a")
    monkeypatch.undo()
    assert decoded(failed)["reason"] == "InternalError"
    assert (await cluster.call("GET", CONFIG_MAPS)).status == 200


async def test_a_definition_with_names_that_are_taken_is_not_served() -> None:
    cluster = Cluster()
    await cluster.create(DEFINITIONS, definition())
    rival = definition(plural="gadgets", kind="Widget")
    created = await cluster.create(DEFINITIONS, rival)
    conditions = {each["type"]: each["status"] for each in created["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "False", "Established": "False"}
    listed = await cluster.call("GET", "/apis/example.com/v1/gadgets")
    assert listed.status == 404


async def test_definitions_are_served_again_after_a_restart() -> None:
    first = Cluster()
    await first.create(DEFINITIONS, definition())
    await first.create("/apis/example.com/v1/namespaces/default/widgets", widget("a"))
    second = Cluster(storage=first.storage)
    found = await second.read("/apis/example.com/v1/widgets")
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]


async def test_a_changed_definition_is_used_for_objects_that_were_there() -> None:
    cluster = Cluster()
    created = await cluster.create(DEFINITIONS, definition())
    path = "/apis/example.com/v1/namespaces/default/widgets"
    await cluster.create(path, widget("a", spec={"old": 1}))
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
        },
    }
    created["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    response = await cluster.call("PUT", f"{DEFINITIONS}/widgets.example.com", created)
    assert response.status == 200, response.body
    assert (await cluster.read(f"{path}/a"))["spec"] == {"size": 3}


async def test_the_namespaces_of_every_cluster_stay() -> None:
    response = await Cluster().call("DELETE", "/api/v1/namespaces/default")
    assert decoded(response)["message"] == (
        'namespaces "default" is forbidden: this namespace may not be deleted'
    )
