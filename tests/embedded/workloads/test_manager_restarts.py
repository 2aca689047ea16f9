"""Cut off after each write and started again, the workloads come to the same end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.workloads import manager
from lading.embedded.workloads.cron_jobs import SCHEDULED_ANNOTATION
from lading.ports.http import HttpTransport, Request, Response
from tests.conformance.kube.api import DAEMON_SETS, Document
from tests.e2e import workload_controllers, workload_objects
from tests.e2e.workload_controllers import CRON_JOBS, JOBS, WorkloadsUnderTest

End = Callable[[WorkloadsUnderTest], Awaitable[bool]]
WRITES_BEFORE_THE_CUT = (1, 2, 4)


class CutOff:
    """An exchange that answers no more after so many writes."""

    def __init__(self, exchange: HttpTransport, writes: int) -> None:
        self._exchange = exchange
        self._left = writes
        self.is_cut = asyncio.Event()

    async def __call__(self, request: Request) -> Response:
        is_write = request.method != "GET" and "/events" not in request.path
        if self.is_cut.is_set():
            await asyncio.get_running_loop().create_future()
        response = await self._exchange(request)
        self._left -= is_write
        if self._left <= 0:
            self.is_cut.set()
            await asyncio.get_running_loop().create_future()
        return response


@asynccontextmanager
async def world() -> AsyncIterator[tuple[HttpTransport, WorkloadsUnderTest]]:
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    exchange = Authorized(core, "t")
    under_test = WorkloadsUnderTest(KubeClient(exchange))
    await under_test.register_nodes()
    yield exchange, under_test
    await core.close()


@asynccontextmanager
async def controllers(exchange: HttpTransport) -> AsyncIterator[None]:
    opened = await manager.open_workloads((), kube=KubeClient(exchange), clock=SystemClock())
    running = asyncio.create_task(opened.run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def end_pods(under_test: WorkloadsUnderTest, phase: str, *, ready: bool) -> None:
    """As a kubelet that is never away."""
    while True:
        for pod in await under_test.pods():
            if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
                await under_test.report(pod, phase, ready=ready)
        await asyncio.sleep(0.01)


async def cut_and_go_on(
    kind: Any, body: Document, *, writes: int, phase: str, ready: bool, end: End
) -> tuple[list[Document], tuple[Document, ...]]:
    """The pods and the Jobs at the end."""
    async with world() as (exchange, under_test):
        kubelet = asyncio.create_task(end_pods(under_test, phase, ready=ready))
        cut = CutOff(exchange, writes)
        async with controllers(cut):
            await under_test.create(kind, body)
            over = asyncio.create_task(until_end(under_test, end))
            cutting = asyncio.create_task(cut.is_cut.wait())
            await asyncio.wait({over, cutting}, return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            cutting.cancel()
        async with controllers(exchange):
            await until_end(under_test, end)
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)
        return await under_test.pods(), await under_test.page(JOBS)


async def until_end(under_test: WorkloadsUnderTest, end: End) -> None:
    await under_test.until(lambda: end(under_test), "the end was reached")


@pytest.mark.parametrize("writes", WRITES_BEFORE_THE_CUT)
async def test_a_job_makes_one_pod_and_counts_it_once(writes: int) -> None:
    async def end(under_test: WorkloadsUnderTest) -> bool:
        found = (await under_test.get(JOBS, "j")).get("status") or {}
        return any(one["type"] == "Complete" for one in found.get("conditions") or ())

    body = workload_controllers.job()
    pods, (job,) = await cut_and_go_on(
        JOBS, body, writes=writes, phase="Succeeded", ready=False, end=end
    )
    assert len(pods) == 1
    assert job["status"]["succeeded"] == 1
    assert "failed" not in job["status"]


@pytest.mark.parametrize("writes", WRITES_BEFORE_THE_CUT)
async def test_a_daemon_set_makes_one_pod_for_each_node(writes: int) -> None:
    async def end(under_test: WorkloadsUnderTest) -> bool:
        found = (await under_test.get(DAEMON_SETS, "d")).get("status") or {}
        return bool(found.get("numberAvailable") == 2)

    body = workload_controllers.daemon_set("i:1")
    pods, _ = await cut_and_go_on(
        DAEMON_SETS, body, writes=writes, phase="Running", ready=True, end=end
    )
    assert {one["spec"]["nodeName"] for one in pods} == {"fake-1", "fake-2"}
    assert len(pods) == 2


@pytest.mark.parametrize("writes", WRITES_BEFORE_THE_CUT)
async def test_a_cron_job_makes_one_job_for_a_time(writes: int) -> None:
    async def end(under_test: WorkloadsUnderTest) -> bool:
        found = (await under_test.get(CRON_JOBS, "c")).get("status") or {}
        return bool(found.get("lastSuccessfulTime")) and not found.get("active")

    template = {"spec": workload_controllers.job()["spec"]}
    body = workload_objects.cron_job("unused", name="c", jobTemplate=template)
    pods, jobs = await cut_and_go_on(
        CRON_JOBS, body, writes=writes, phase="Succeeded", ready=False, end=end
    )
    times = [one["metadata"]["annotations"][SCHEDULED_ANNOTATION] for one in jobs]
    assert len(times) == len(set(times))
    owners = [one["metadata"]["labels"]["job-name"] for one in pods]
    assert owners
    assert len(owners) == len(set(owners)), "the last Job may have no pod yet, but none has two"
