"""The scenarios of a runtime that cannot pin, on embedded servers."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e import standalone, waiting
from tests.e2e.cluster import ClusterUnderTest
from tests.e2e.skew import RuntimeCannotPinScenarios

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClusterUnderTest]:
    folder = tmp_path_factory.mktemp("cannot-pin")
    async with standalone.opened(folder, engine=standalone.CannotPin) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def cluster(opened: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    yield opened
    await opened.clear()


class TestStandaloneCannotPin(RuntimeCannotPinScenarios):
    pass
