"""The scenarios of images that a node cannot have, on kubelet 1.36 with containerd 2.3."""

from collections.abc import AsyncIterator

import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.wiring import clusters
from tests.e2e.pod_pulls import PodPullScenarios, PodsUnderTest
from tests.real.bed import cluster as cluster_bed


@pytest_asyncio.fixture(loop_scope="session")
async def pods(cluster: cluster_bed.Cluster) -> AsyncIterator[PodsUnderTest]:
    connection = clusters.find({}, file=cluster.kubeconfig)
    async with clusters.open_client(connection, SystemClock()) as client:
        under_test = PodsUnderTest(kube=client, registry_host=cluster.registry.host)
        yield under_test
        await under_test.clear()


class TestOnKubelet(PodPullScenarios):
    pass
