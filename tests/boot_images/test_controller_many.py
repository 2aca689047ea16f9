"""A thousand machine sets that share one stub cost one list of each kind and one read of it."""

import time
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from lading.boot_images import controller
from lading.boot_images.platforms.types import Api
from tests.boot_images import cluster_api
from tests.boot_images.clusters import (
    CLOCK,
    BootCluster,
    opened,
    reconciler_with_caches_of_now,
)
from tests.boot_images.ignition.stubs import spec_2

NAMES = [f"worker-{number:04}" for number in range(1000)]


@pytest.fixture
async def cluster() -> AsyncIterator[BootCluster]:
    async with opened() as one:
        yield one


@pytest.mark.parametrize("api", list(Api), ids=["OpenShift", "Cluster API"])
async def test_a_thousand_sets(cluster: BootCluster, api: Api) -> None:
    if api is Api.MACHINE:
        await cluster.usual(*NAMES, stub=spec_2())
    else:
        await cluster_api.usual(cluster, *NAMES)
    reconciler = await reconciler_with_caches_of_now(cluster, api)
    cluster.line.requests.clear()
    observed = await reconciler.observe(controller.KEY)
    began = time.process_time()
    planned = reconciler.plan(observed, CLOCK.now())
    assert time.process_time() - began < 1
    assert len(planned.actions) > len(NAMES)
    found = Counter(path for _, path in cluster.line.requests)
    secrets = [path for path in found if "/secrets/" in path]
    assert len(secrets) == 2  # the stub and its copy
    assert max(found.values()) == 1, found
