"""The scenarios on embedded servers: nothing but Python is needed."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e import standalone, waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.controllers import ControllerScenarios, PausedLeaderScenarios
from tests.e2e.private_images import PrivateImageScenarios
from tests.e2e.scenarios import PinnedImageScenarios
from tests.e2e.skew import KubeletSkewScenarios

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClusterUnderTest]:
    async with standalone.opened(tmp_path_factory.mktemp("standalone")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(opened: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    yield opened
    await opened.clear()


class TestStandalone(
    PinnedImageScenarios,
    PrivateImageScenarios,
    ControllerScenarios,
    PausedLeaderScenarios,
    KubeletSkewScenarios,
):
    pass
