"""A disk that is really full in the middle of a pull: reported, and pulled when there is space."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.embedded import sample_images
from lading.kernel import conditions, references
from lading.kernel.conditions import Truth
from lading.pinned_images.reasons import Reason
from tests.e2e import door, expectations, private_registry, waiting
from tests.e2e.cluster import POOL, ClusterUnderTest
from tests.real import under_test
from tests.real.bed import api_server, containerd, disk, registry

MEBIBYTE = 1 << 20
DISK_BYTES = 256 * MEBIBYTE
BALLAST_BYTES = 120 * MEBIBYTE
UNPACKED_BYTES = 130 * MEBIBYTE
"""Fits without the ballast, and not beside it. Being zeros, it is nothing in the registry, so
the estimate from its size there is wrong and the pull begins."""

pytestmark = pytest.mark.components("kube", "containerd", "registry")


@pytest.fixture
def small_disk() -> Iterator[Path]:
    with disk.loop_filesystem(DISK_BYTES) as root:
        yield root


@pytest.fixture
def server() -> Iterator[api_server.ApiServer]:
    with api_server.api_server() as running:
        yield running


@pytest_asyncio.fixture
async def cluster(
    server: api_server.ApiServer,
    small_disk: Path,
    registry_3_1: registry.Registry,
    tmp_path: Path,
) -> AsyncIterator[ClusterUnderTest]:
    with containerd.containerd(registries=[registry_3_1], root=small_disk) as engine:
        async with (
            door.before(registry_3_1.host) as front,
            private_registry.opened(tmp_path) as private,
            under_test.on_runtime(server, engine, front, private, tmp_path) as running,
        ):
            yield running


async def push_zeros(cluster: ClusterUnderTest) -> str:
    sample = sample_images.image([{"zeros": bytes(UNPACKED_BYTES), "own": os.urandom(64)}])
    reference = references.parse(f"{cluster.door.host}/zeros:1")
    return str(await sample_images.push(cluster.registry, reference, sample))


async def pool_is_full(cluster: ClusterUnderTest, image: str) -> bool:
    pool = await cluster.kube.get(MACHINE_CONFIG_POOLS, POOL)
    found = conditions.find(pool.status.conditions, "Degraded")
    return (
        found is not None
        and found.status is Truth.TRUE
        and found.reason == Reason.NO_SPACE
        and image in found.message
    )


async def test_a_full_disk_is_reported_as_such_and_the_pull_succeeds_when_space_is_freed(
    cluster: ClusterUnderTest, small_disk: Path
) -> None:
    (node,) = cluster.nodes
    ballast = small_disk / "ballast"
    ballast.write_bytes(os.urandom(BALLAST_BYTES))
    image = await push_zeros(cluster)
    await cluster.make_set("full", image)
    await expectations.until_degraded(cluster, node, Reason.NO_SPACE, naming=image)
    await waiting.until(lambda: pool_is_full(cluster, image), "the pool is degraded by NoSpace")
    # Beside it the plan may refuse to try again, as long as the disk is still full.
    errors = (await cluster.reported_set(node, "full")).last_failed_generation_errors
    assert any("no space left on device" in error for error in errors)
    assert image not in await node.pinned()

    ballast.unlink()
    await cluster.until_done("full")
    assert image in await node.pinned()
    await expectations.until_healthy(cluster, node)
