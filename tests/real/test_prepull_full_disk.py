"""Held images on a disk that is really full: the kubelet, its eviction and containerd are real."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.prepull import names_of
from tests.real import prepull_world
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import disk
from tests.real.prepull_world import World

PODS_MAX = 10

pytestmark = [
    pytest.mark.components("kube", "containerd"),
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with disk.loop_filesystem(prepull_world.DISK_BYTES) as made:
        yield made


@pytest.fixture(scope="module")
def bed(root: Path) -> Iterator[cluster_bed.Cluster]:
    with prepull_world.bed_on_disk(root) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    async with prepull_world.opened(bed, tmp_path_factory.mktemp("installed")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def world(opened: World) -> World:
    await opened.clean()
    return opened


async def test_a_held_image_stays_on_a_full_disk_and_its_pod_runs_all_the_time(
    world: World, root: Path
) -> None:
    listed = {"kept": await world.push("kept", "1")}
    await world.start(listed)
    await world.until_deployed(*names_of(listed))
    made = await prepull_world.pods_made_on_a_full_disk(world, root)
    assert made == {one.metadata.uid for one in await world.pods()}, "the same one pod"
    assert set(listed.values()) <= await world.present(world.bed.node_name)


async def test_pods_that_the_kubelet_may_evict_are_replaced_only_after_the_pressure(
    world: World, root: Path
) -> None:
    listed = {"evicted": await world.push("evicted", "1")}
    await world.start(listed, "--prepull-pods={priorityClassName: lading-prepull}")
    await world.until_deployed(*names_of(listed))
    made = await prepull_world.pods_made_on_a_full_disk(world, root)
    assert 1 < len(made) < PODS_MAX
    await world.until_deployed(*names_of(listed))
