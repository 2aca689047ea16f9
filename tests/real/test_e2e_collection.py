"""The kubelet itself collects images, on a small disk of its own: pins are what keeps one.

The kubelet looks for disk pressure every ten seconds and then removes every image that is neither
used nor pinned, so each step here takes seconds, not the five minutes of its ordinary round.
"""

from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest
import pytest_asyncio

from lading.ports.cri import ImageSpec
from lading.runtime_images.gc_types import GcReason
from lading.runtime_images.report import CollectionReport
from tests.e2e import waiting
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest
from tests.real import under_test
from tests.real.bed import cluster as cluster_bed
from tests.real.bed import disk

MEBIBYTE = 1 << 20
DISK_BYTES = 512 * MEBIBYTE
RESERVE = "200Mi"
KUBELET_SETTINGS = {
    "evictionHard": {"imagefs.available": RESERVE},
    "evictionPressureTransitionPeriod": "1s",
    "imageMinimumGCAge": "1s",
    # Only pressure shall collect here, so that a test knows when.
    "imageGCHighThresholdPercent": 100,
    "imageGCLowThresholdPercent": 99,
}
BALLAST_BYTES = 75 * MEBIBYTE

pytestmark = pytest.mark.components("kube", "containerd")


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster_bed.Cluster]:
    with (
        disk.loop_filesystem(DISK_BYTES) as root,
        cluster_bed.cluster(root=root, kubelet_settings=KUBELET_SETTINGS) as running,
    ):
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ClusterUnderTest]:
    async with under_test.on_cluster(bed, tmp_path_factory.mktemp("installed")) as running:
        yield running


async def fill(cluster: ClusterUnderTest, node: NodeUnderTest, name: str) -> set[str]:
    """Pulls images that no set pins, without the agent, until the kubelet must act.

    It may do so between two of them, and then leaves the last.
    """
    images = {
        await cluster.push(f"{name}/{number}", size_bytes=BALLAST_BYTES) for number in range(2)
    }
    for image in images:
        await node.cri.pull(ImageSpec(image=image))
    return images


async def until_one_is_collected(node: NodeUnderTest, images: set[str]) -> None:
    async def is_gone() -> bool:
        return not images <= await node.present()

    await waiting.until(is_gone, f"the kubelet removed one of {', '.join(images)}")


@pytest.mark.asyncio(loop_scope="session")
async def test_the_kubelet_collects_what_is_not_pinned_and_keeps_what_is(
    cluster: ClusterUnderTest,
) -> None:
    (node,) = cluster.nodes
    kept = await cluster.push("kept", size_bytes=10 * MEBIBYTE)
    await cluster.make_set("kept", kept)
    await cluster.until_done("kept")
    progress = msgspec.json.decode(await node.agent.get("/pinned-images"))
    assert f"imagefs.available<{RESERVE}" in progress["storage"]["reserveReason"]
    judged = msgspec.json.decode(await node.agent.get("/runtime-images"), type=CollectionReport)
    assert (judged.high_threshold_percent, judged.low_threshold_percent) == (100, 99)
    assert judged.used_percent is not None
    reasons = {one.reason for one in judged.verdicts if kept in one.names}
    assert reasons == {GcReason.PINNED}

    ballast = await fill(cluster, node, "first")
    await until_one_is_collected(node, ballast)
    assert kept in await node.pinned()

    for image in ballast:
        await node.cri.remove(ImageSpec(image=image))

    await cluster.delete_set("kept")
    await cluster.until_unpinned(node, {kept})
    await fill(cluster, node, "second")
    await until_one_is_collected(node, {kept})
