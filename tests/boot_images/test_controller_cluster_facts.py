"""ClusterVersion and Infrastructure are watched where they exist, and nothing waits for them."""

from collections.abc import AsyncIterator

import pytest

from lading.api import loose
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.openshift_config import CLUSTER_VERSIONS, INFRASTRUCTURES
from tests.boot_images import cluster_api
from tests.boot_images.clusters import BootCluster, opened, running
from tests.boot_images.streams import VERSION
from tests.boot_images.worlds import INFRA


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


async def set_version(cluster: BootCluster, state: str) -> None:
    status = {"history": [{"state": state, "version": VERSION}]}
    await cluster.kube.patch(CLUSTER_VERSIONS, "version", {"status": status}, subresource="status")


async def test_the_end_of_an_update_is_noticed_without_asking_for_it(cluster: BootCluster) -> None:
    await cluster.usual()
    await set_version(cluster, "Partial")
    async with running(cluster):
        await cluster.until_state("Waiting", reason="ReleaseNotProven")
        cluster.line.requests.clear()
        await set_version(cluster, "Completed")
        await cluster.until_state("Current")
    paths = [path for _, path in cluster.line.requests]
    assert not any(path.endswith("/clusterversions/version") for path in paths)


async def test_the_name_of_the_cluster_is_noticed_when_it_comes(cluster: BootCluster) -> None:
    await cluster_api.usual(cluster)
    await cluster.kube.delete(INFRASTRUCTURES, "cluster")
    async with running(cluster):

        async def is_watched() -> bool:
            return ("GET", f"/apis/{INFRASTRUCTURES.api_version}/infrastructures") in (
                cluster.line.requests
            )

        await cluster.until(is_watched, "infrastructures are watched")
        assert await cluster_api.history_of(cluster) is None
        await cluster.create(INFRASTRUCTURES, "cluster")
        status = {"infrastructureName": INFRA}
        await cluster.kube.patch(
            INFRASTRUCTURES, "cluster", {"status": status}, subresource="status"
        )
        await cluster_api.until_state(cluster, "Current")


async def test_without_these_kinds_a_node_proves_the_release() -> None:
    async with opened(with_kinds=False) as cluster:
        for manifest in loose.manifests():
            if manifest["spec"]["group"] != CLUSTER_VERSIONS.group:
                await cluster.kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)
        await cluster.make_golden()
        await cluster.make_stub()
        await cluster.make_set()
        await cluster.make_node("node-a", **{"lading.dev/os-release": VERSION})
        await cluster.enrol()
        async with running(cluster):
            await cluster.until_state("Current")
