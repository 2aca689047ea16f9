"""The scenarios on CRI-O 1.36: a real API server, a Node made by hand, the rights of `deploy/`."""

import dataclasses
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.e2e import door, private_registry
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.private_images import PrivateImageScenarios
from tests.e2e.scenarios import PinnedImageScenarios
from tests.e2e.skew import KubeletSkewScenarios
from tests.real import under_test
from tests.real.bed import api_server, crio, registry

pytestmark = pytest.mark.components("kube", "cri-o", "registry")


@pytest.fixture(scope="module")
def server() -> Iterator[api_server.ApiServer]:
    with api_server.api_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(
    server: api_server.ApiServer,
    registry_3_1: registry.Registry,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ClusterUnderTest]:
    folder = tmp_path_factory.mktemp("installed")
    async with (
        door.before(registry_3_1.host) as front,
        private_registry.opened(folder) as private,
    ):
        # CRI-O speaks plain HTTP only with registries that its configuration named when it started.
        hosts = (registry_3_1.host, front.host, private.host)
        insecure = [dataclasses.replace(registry_3_1, host=host) for host in hosts]
        with crio.crio(registries=insecure) as engine:
            async with under_test.on_runtime(server, engine, front, private, folder) as running:
                yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(opened: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    yield opened
    await opened.clear()


class TestOnCrio(PinnedImageScenarios, PrivateImageScenarios, KubeletSkewScenarios):
    pass
