"""Machine sets of Cluster API on an API server in memory: clones, their removal, and machines."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from lading.api.cluster_api import CLUSTER_MACHINE_SETS, CLUSTERS
from lading.boot_images import machines
from lading.boot_images.controller import KEY
from lading.boot_images.platforms.types import Api
from lading.boot_images.templates import UNUSED_ANNOTATION
from lading.boot_images.types import BootImageSettings
from tests.boot_images import cluster_api
from tests.boot_images.clusters import (
    BootCluster,
    opened,
    reconciler_with_caches_of_now,
    running,
)
from tests.boot_images.streams import GCP_IMAGE, GCP_IMAGE_OLD
from tests.boot_images.worlds import CLUSTER_NAMESPACE, INFRA

SECOND = timedelta(seconds=1)
SOON = {"unused_templates_retention": SECOND, "templates_interval": SECOND}


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


async def updated(cluster: BootCluster) -> str:
    """The name of the clone that the machine set got."""
    await cluster_api.usual(cluster)
    async with running(cluster):
        await cluster_api.until_state(cluster, "Current")
    return await cluster_api.template_of(cluster)


async def until_templates(cluster: BootCluster, *names: str) -> None:
    async def is_so() -> bool:
        return set(await cluster_api.templates(cluster)) == set(names)

    await cluster.until(is_so, f"the templates are {names}")


async def until_passes(cluster: BootCluster, count: int) -> None:
    """The controller has looked so many times for what needs the clone."""

    def seen() -> int:
        paths = [path for method, path in cluster.line.requests if method == "GET"]
        return sum(path.endswith("/machinedeployments") for path in paths)

    await cluster.until(at_least(seen, seen() + count), f"{count} passes")


@pytest.mark.parametrize(
    "paused",
    [{"spec": {"paused": True}}, {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}],
    ids=["spec.paused", "the annotation"],
)
async def test_nothing_of_a_paused_cluster_is_written(
    cluster: BootCluster, paused: dict[str, Any]
) -> None:
    await cluster_api.usual(cluster)
    await cluster.create(CLUSTERS, INFRA, CLUSTER_NAMESPACE, **paused)
    async with running(cluster, settings={"secrets_interval": SECOND}):
        await cluster_api.until_state(cluster, "Skipped", reason="Paused")
        own = f"/namespaces/{CLUSTER_NAMESPACE}/"
        assert [path for _, path in cluster.line.writes() if own in path] == []
        resumed = {
            "spec": {"paused": False},
            "metadata": {"annotations": {"cluster.x-k8s.io/paused": None}},
        }
        await cluster.kube.patch(CLUSTERS, INFRA, resumed, namespace=CLUSTER_NAMESPACE)
        await cluster_api.until_state(cluster, "Current")


async def test_a_cluster_that_may_not_be_read_may_be_paused(cluster: BootCluster) -> None:
    await cluster_api.usual(cluster)
    cluster.line.unreadable = f"/clusters/{INFRA}"
    async with running(cluster):
        await cluster_api.until_state(cluster, "Skipped", reason="Forbidden")


async def test_machines_are_listed_rarely_for_a_clone_that_nothing_needs(
    cluster: BootCluster,
) -> None:
    await updated(cluster)
    await cluster_api.point_back(cluster)
    reconciler = await reconciler_with_caches_of_now(cluster, Api.CLUSTER)
    cluster.line.requests.clear()
    for _ in range(3):
        await reconciler.reconcile(KEY)
    lists = [
        path
        for _, path in cluster.line.requests
        if path.endswith("v1beta1/namespaces/openshift-cluster-api/gcpmachines")
    ]
    assert len(lists) == 1


async def test_a_clone_that_nothing_needs_is_removed_and_its_source_stays(
    cluster: BootCluster,
) -> None:
    clone = await updated(cluster)
    await cluster_api.point_back(cluster)
    async with running(cluster, settings=SOON):
        await until_templates(cluster, "template-a")
    assert clone != "template-a"


async def test_a_clone_outlives_its_last_set_by_the_period(cluster: BootCluster) -> None:
    clone = await updated(cluster)
    await cluster.kube.delete(CLUSTER_MACHINE_SETS, "worker-a", namespace=CLUSTER_NAMESPACE)

    async def is_marked() -> bool:
        found = (await cluster_api.templates(cluster))[clone]
        return UNUSED_ANNOTATION in found.metadata.annotations

    async with running(cluster):
        await cluster.until(is_marked, "the clone is marked")
    async with running(cluster, settings=SOON):
        await until_templates(cluster, "template-a")


async def test_a_clone_that_a_machine_needs_stays_until_then(cluster: BootCluster) -> None:
    clone = await updated(cluster)
    await cluster_api.make_machine(cluster, template=clone)
    await cluster_api.point_back(cluster)
    async with running(cluster, settings=SOON):
        await until_passes(cluster, 2)
        found = await cluster_api.templates(cluster)
        assert UNUSED_ANNOTATION not in found[clone].metadata.annotations
        machines = cluster_api.GCP_MACHINES
        await cluster.kube.delete(machines, "machine-a", namespace=CLUSTER_NAMESPACE)
        await until_templates(cluster, "template-a")


async def test_templates_of_sets_deployments_and_machines_are_in_use(cluster: BootCluster) -> None:
    """All of them are read anew: a cache may not know a machine set yet."""
    await cluster_api.usual(cluster)
    await cluster_api.make_deployment(cluster, "template-b")
    await cluster_api.make_machine(cluster, template="template-c")
    kind = cluster_api.TEMPLATES.kind
    found = await machines.templates_in_use(cluster.kube, BootImageSettings(), [kind])
    assert found is not None
    assert sorted(found) == [(kind, CLUSTER_NAMESPACE, f"template-{one}") for one in "abc"]


async def test_where_users_may_not_be_listed_no_clone_is_removed(cluster: BootCluster) -> None:
    clone = await updated(cluster)
    await cluster_api.point_back(cluster)
    cluster.line.unreadable = "/gcpmachines"
    async with running(cluster, settings=SOON):
        await until_passes(cluster, 2)
    found = await cluster_api.templates(cluster)
    assert UNUSED_ANNOTATION not in found[clone].metadata.annotations


async def test_an_unused_clone_is_used_again_and_loses_its_mark(cluster: BootCluster) -> None:
    clone = await updated(cluster)
    await cluster_api.point_back(cluster)

    async def has_mark() -> bool:
        found = (await cluster_api.templates(cluster))[clone]
        return UNUSED_ANNOTATION in found.metadata.annotations

    async def has_none() -> bool:
        return not await has_mark()

    async with running(cluster):
        await cluster.until(has_mark, "the clone is marked")
        patch = {"metadata": {"annotations": {"lading.dev/boot-image-updates": None}}}
        await cluster.kube.patch(
            CLUSTER_MACHINE_SETS, "worker-a", patch, namespace=CLUSTER_NAMESPACE
        )
        await cluster_api.until_state(cluster, "Current")
        await cluster.until(has_none, "the mark is gone")
    assert await cluster_api.template_of(cluster) == clone


async def test_a_template_of_that_name_with_another_content_is_not_used(
    cluster: BootCluster,
) -> None:
    clone = await updated(cluster)
    await cluster_api.point_back(cluster)
    await cluster.kube.delete(cluster_api.TEMPLATES, clone, namespace=CLUSTER_NAMESPACE)
    other = {"template": {"spec": {**cluster_api.MACHINE, "image": "other"}}}
    await cluster.create(cluster_api.TEMPLATES, clone, CLUSTER_NAMESPACE, spec=other)
    patch = {"metadata": {"annotations": {"lading.dev/boot-image-updates": None}}}
    await cluster.kube.patch(CLUSTER_MACHINE_SETS, "worker-a", patch, namespace=CLUSTER_NAMESPACE)
    async with running(cluster):
        await cluster_api.until_state(cluster, "Failed")
    found = await cluster_api.history_of(cluster)
    assert found is not None
    assert "exists with another content" in found.status.message
    assert await cluster_api.template_of(cluster) == "template-a"


async def test_a_machine_of_cluster_api_proves_the_release(cluster: BootCluster) -> None:
    await make_unproven(cluster)
    async with running(cluster, settings={"cluster_name": "mine"}):
        await cluster.until_state("Waiting", reason="ReleaseNotProven")
        await cluster_api.make_machine(cluster, node="node-a", of_cluster="mine")
        await cluster.make_node("node-b")  # machines are read when something changes
        await cluster.until_state("Current")


async def make_unproven(cluster: BootCluster) -> None:
    await cluster.make_golden()
    await cluster.make_stub()
    await cluster.make_set()
    await cluster.enrol()
    await cluster.make_node()


@pytest.mark.parametrize(("image", "of_cluster"), [(GCP_IMAGE, "another"), (GCP_IMAGE_OLD, "mine")])
async def test_what_of_cluster_api_is_no_proof(
    cluster: BootCluster, image: str, of_cluster: str
) -> None:
    await make_unproven(cluster)
    await cluster_api.make_machine(cluster, node="node-a", image=image, of_cluster=of_cluster)
    async with running(cluster, settings={"cluster_name": "mine"}):
        await cluster.until_state("Waiting", reason="ReleaseNotProven")


async def test_at_rest_there_are_no_writes_and_no_lists_of_users(cluster: BootCluster) -> None:
    await updated(cluster)

    def passes() -> int:
        return sum(path.endswith("/secrets/worker-user-data") for _, path in cluster.line.requests)

    async with running(cluster, settings={**SOON, "secrets_interval": SECOND}):
        await cluster.until(lambda: is_reported(cluster), "all is reported")
        cluster.line.requests.clear()
        await cluster.until(at_least(passes, 2), "two passes")
    assert cluster.line.writes() == []
    assert not any("machinedeployments" in path for _, path in cluster.line.requests)
    assert len(await cluster_api.templates(cluster)) == 2


async def is_reported(cluster: BootCluster) -> bool:
    conditions = (await cluster.configuration()).status.conditions
    return any("1 of 1 machine sets updated" in one.message for one in conditions)


def at_least(count: Callable[[], int], number: int) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return count() >= number

    return is_so
