"""A dashboard of a cluster in memory, served to a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.loop import tasks
from lading.ports.kube import Kube
from lading.web import serving
from lading.web.details import Agents, SetPlanner
from lading.web.pruning_plan import PlanReader


@asynccontextmanager
async def dashboard(
    client: Kube,
    plan: Path | None = None,
    planner: SetPlanner | None = None,
    agents: Agents | None = None,
) -> AsyncIterator[str]:
    """Yields the URL with its token."""
    async with (
        serving.opened(
            client,
            SystemClock(),
            cluster="test",
            plan=PlanReader(plan),
            planner=planner,
            agents=agents,
        ) as served,
        tasks.started(served.run()) as running,
    ):
        yield served.url
        assert not running.done(), running.exception()
