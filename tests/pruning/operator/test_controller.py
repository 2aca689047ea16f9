"""The scenarios of the controller on an API server in memory."""

from collections.abc import AsyncIterator

import pytest

from tests.pruning.operator.controller_scenarios import ControllerScenarios
from tests.pruning.operator.pruner_clusters import PrunerCluster, opened


@pytest.fixture
async def cluster() -> AsyncIterator[PrunerCluster]:
    async with opened() as one:
        yield one


class TestInMemory(ControllerScenarios):
    pass
