"""The scenarios on a real cluster: kubelet 1.36 on containerd 2.3, and the rights of `deploy/`."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.controllers import ControllerScenarios
from tests.e2e.private_images import PrivateImageScenarios
from tests.e2e.scenarios import PinnedImageScenarios
from tests.e2e.skew import KubeletSkewScenarios
from tests.real import under_test
from tests.real.bed import cluster as cluster_bed

pytestmark = pytest.mark.components("kube", "containerd")


@pytest.fixture(scope="module")
def bed() -> Iterator[cluster_bed.Cluster]:
    with cluster_bed.cluster() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    bed: cluster_bed.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ClusterUnderTest]:
    async with under_test.on_cluster(bed, tmp_path_factory.mktemp("installed")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(opened: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    yield opened
    await opened.clear()


class TestOnKubernetes(
    PinnedImageScenarios, PrivateImageScenarios, ControllerScenarios, KubeletSkewScenarios
):
    pass
