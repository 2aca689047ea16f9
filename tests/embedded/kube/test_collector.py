"""The collector after a restart, and on more than one step can hold."""

import asyncio
from collections.abc import Callable

import pytest

from lading.embedded.kube import collector
from tests.embedded.kube.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    Cluster,
    config_map,
    definition,
    widget,
)

NAMESPACES = "/api/v1/namespaces"


async def until(fact: Callable[[], bool]) -> None:
    """The collector works in the same loop: it only needs turns."""
    async with asyncio.timeout(10):
        while not fact():  # noqa: ASYNC110 - there is no event: the state of the world is asked
            await asyncio.sleep(0)


async def names(cluster: Cluster, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in (await cluster.read(path))["items"]]


async def test_a_large_namespace_is_emptied_in_steps() -> None:
    cluster = Cluster()
    await cluster.create(NAMESPACES, {"metadata": {"name": "big"}})
    for number in range(collector.DELETIONS_PER_STEP_MAX * 3):
        await cluster.create(f"{NAMESPACES}/big/configmaps", config_map(f"a-{number}"))
    await cluster.call("DELETE", f"{NAMESPACES}/big")
    await until(lambda: cluster.storage.changes("namespaces", after=0)[-1].deleted)
    assert await names(cluster, "/api/v1/configmaps") == []


async def test_a_deletion_that_was_interrupted_goes_on() -> None:
    first = Cluster()
    await first.create(NAMESPACES, {"metadata": {"name": "half"}})
    await first.create(f"{NAMESPACES}/half/configmaps", config_map("a"))
    await first.call("DELETE", f"{NAMESPACES}/half")
    await first.core.close()
    assert "half" in await names(first, NAMESPACES)
    first.storage.close()
    second = Cluster(storage=first.storage)
    await second.call("GET", "/livez")
    await until(lambda: second.storage.changes("namespaces", after=0)[-1].deleted)
    assert await names(second, "/api/v1/configmaps") == []


async def test_dependents_of_a_cluster_scoped_owner_go_with_it() -> None:
    cluster = Cluster()
    owner = await cluster.create("/api/v1/nodes", {"metadata": {"name": "n"}})
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": owner["metadata"]["uid"]}
    await cluster.create(CONFIG_MAPS, config_map("a", ownerReferences=[reference]))
    await cluster.call("DELETE", "/api/v1/nodes/n")
    await until(lambda: cluster.storage.changes("configmaps", after=0)[-1].deleted)


@pytest.mark.parametrize(
    "reference",
    [
        {"apiVersion": "nowhere.example/v1", "kind": "Thing", "name": "t", "uid": "u"},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "t", "uid": "u"},
    ],
    ids=["of a kind that is not served", "of a namespaced kind, for a cluster-scoped object"],
)
async def test_an_owner_that_cannot_be_looked_up_is_taken_to_live(
    reference: dict[str, str],
) -> None:
    cluster = Cluster()
    node = {"metadata": {"name": "n", "ownerReferences": [reference]}}
    await cluster.create("/api/v1/nodes", node)
    gone = {**reference, "apiVersion": "v1", "kind": "Node"}
    await cluster.create("/api/v1/nodes", {"metadata": {"name": "m", "ownerReferences": [gone]}})
    await until(lambda: cluster.storage.changes("nodes", after=0)[-1].deleted)
    assert await names(cluster, "/api/v1/nodes") == ["n"]


async def test_a_definition_goes_after_its_objects_and_takes_no_new_ones() -> None:
    cluster = Cluster()
    await cluster.create(DEFINITIONS, definition())
    path = "/apis/example.com/v1/namespaces/default/widgets"
    await cluster.create(path, widget("a", metadata={"finalizers": ["example.com/hold"]}))
    await cluster.call("DELETE", f"{DEFINITIONS}/widgets.example.com")
    refused = await cluster.call("POST", path, widget("b"))
    assert refused.status == 405
    await until(lambda: len(cluster.storage.changes("widgets.example.com", after=0)) > 1)
    patch = {"metadata": {"finalizers": None}}
    await cluster.call("PATCH", f"{path}/a", patch, content_type="application/merge-patch+json")
    await until(lambda: definition_is_gone(cluster))
    assert (await cluster.call("GET", path)).status == 404


def definition_is_gone(cluster: Cluster) -> bool:
    log = cluster.storage.changes("customresourcedefinitions.apiextensions.k8s.io", after=0)
    return log[-1].deleted
