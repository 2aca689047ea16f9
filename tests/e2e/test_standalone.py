"""The scenarios on embedded servers: nothing but Python is needed."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from tests.e2e import standalone, waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.controllers import ControllerScenarios, PausedLeaderScenarios
from tests.e2e.private_images import PrivateImageScenarios
from tests.e2e.scenarios import PinnedImageScenarios
from tests.e2e.skew import KubeletSkewScenarios

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)


SCENARIOS_PER_CLUSTER = 4
"""On one cluster for all scenarios, single late ones took 50 to 80 s, and 2 to 5 s alone. The
likely reason is kernel/pacing.py: a pool that changes often is written later."""


class Clusters:
    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._opened = AsyncExitStack()
        self._running: ClusterUnderTest | None = None
        self._scenarios = 0

    async def running(self) -> ClusterUnderTest:
        if self._running is None or self._scenarios == SCENARIOS_PER_CLUSTER:
            await self.close()
            folder = self._folders.mktemp("standalone")
            self._running = await self._opened.enter_async_context(standalone.opened(folder))
            self._scenarios = 0
        self._scenarios += 1
        return self._running

    async def close(self) -> None:
        await self._opened.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def clusters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clusters]:
    made = Clusters(tmp_path_factory)
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(clusters: Clusters) -> AsyncIterator[ClusterUnderTest]:
    running = await clusters.running()
    yield running
    await running.clear()


class TestStandalone(
    PinnedImageScenarios,
    PrivateImageScenarios,
    ControllerScenarios,
    PausedLeaderScenarios,
    KubeletSkewScenarios,
):
    pass
