"""The workload controllers of standalone clusters, without the pod loops of nodes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.workloads import manager
from tests.e2e import waiting
from tests.e2e.workload_controllers import WorkloadControllerScenarios, WorkloadsUnderTest

pytestmark = pytest.mark.timeout(waiting.TEST_SECONDS_MAX)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened() -> AsyncIterator[WorkloadsUnderTest]:
    clock = SystemClock()
    core = Core(MemoryStorage(), clock, tokens={"token": ADMIN})
    under_test = WorkloadsUnderTest(KubeClient(Authorized(core, "token")))
    await under_test.register_nodes()
    opened = await manager.open_workloads((), kube=under_test.kube, clock=clock)
    running = asyncio.create_task(opened.run())
    yield under_test
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await core.close()


@pytest_asyncio.fixture(loop_scope="session")
async def workloads(opened: WorkloadsUnderTest) -> AsyncIterator[WorkloadsUnderTest]:
    yield opened
    await opened.clear()


class TestStandaloneControllers(WorkloadControllerScenarios):
    pass
