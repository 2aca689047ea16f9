"""A dashboard of a cluster in memory, served to a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.loop import tasks
from lading.ports.kube import Kube
from lading.web import serving
from lading.web.details import PlanSets


@asynccontextmanager
async def dashboard(
    client: Kube, plan: Path | None = None, plan_sets: PlanSets | None = None
) -> AsyncIterator[str]:
    """Yields the URL with its token."""
    async with (
        serving.opened(
            client, SystemClock(), cluster="test", plan=plan, plan_sets=plan_sets
        ) as served,
        tasks.started(served.run()) as running,
    ):
        yield served.url
        assert not running.done(), running.exception()
