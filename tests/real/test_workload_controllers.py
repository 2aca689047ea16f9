"""The same scenarios on kube-controller-manager and kube-scheduler 1.36."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.wiring import clusters
from tests.conformance.kube.api import resource
from tests.e2e.workload_controllers import WorkloadControllerScenarios, WorkloadsUnderTest
from tests.real.bed import api_server, control_plane, sandbox

pytestmark = pytest.mark.components("kube")
CONTROLLERS = "*,-node-lifecycle-controller"
"""Nothing sends heartbeats for the nodes, and nothing may miss them."""
SERVICE_ACCOUNTS = resource("serviceaccounts", "ServiceAccount")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened() -> AsyncIterator[WorkloadsUnderTest]:
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        control_plane.start(place, server, controllers=CONTROLLERS)
        connection = clusters.find({}, file=server.kubeconfig_path)
        async with clusters.open_client(connection, SystemClock()) as client:
            under_test = WorkloadsUnderTest(client)
            await under_test.register_nodes()

            async def has_account() -> bool:
                return bool(await under_test.page(SERVICE_ACCOUNTS))

            await under_test.until(has_account, "pods had their account")
            yield under_test


@pytest_asyncio.fixture(loop_scope="session")
async def workloads(opened: WorkloadsUnderTest) -> AsyncIterator[WorkloadsUnderTest]:
    yield opened
    await opened.clear()


class TestControllersOfKubernetes(WorkloadControllerScenarios):
    pass
