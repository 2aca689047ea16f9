"""The same scenarios on kube-controller-manager and kube-scheduler 1.36."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from lading.adapters.clock import SystemClock
from lading.wiring import clusters
from tests.conformance.kube.api import NODES, resource
from tests.e2e.workload_controllers import WorkloadControllerScenarios, WorkloadsUnderTest
from tests.real.bed import api_server, control_plane, sandbox

pytestmark = pytest.mark.components("kube")
SERVICE_ACCOUNTS = resource("serviceaccounts", "ServiceAccount")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened() -> AsyncIterator[WorkloadsUnderTest]:
    with sandbox.sandbox() as place:
        server = api_server.start(place)
        control_plane.start(place, server)
        connection = clusters.find({}, file=server.kubeconfig_path)
        async with clusters.open_client(connection, SystemClock()) as client:
            under_test = WorkloadsUnderTest(client)
            await under_test.register_nodes()

            async def is_ready() -> bool:
                """Pods have their account, and the nodes lost the taint of new nodes."""
                nodes = (await client.page(NODES)).items
                taints = [len(one["spec"].get("taints") or ()) for one in nodes]
                return bool(await under_test.page(SERVICE_ACCOUNTS)) and sum(taints) == 1

            await under_test.until(is_ready, "the nodes were usable")
            yield under_test


@pytest_asyncio.fixture(loop_scope="session")
async def workloads(opened: WorkloadsUnderTest) -> AsyncIterator[WorkloadsUnderTest]:
    yield opened
    await opened.clear()


class TestControllersOfKubernetes(WorkloadControllerScenarios):
    pass
