"""One dashboard with its server, for `lading dashboard` and `lading up`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.web import server
from lading.web.dashboard import Dashboard
from lading.web.details import Details
from lading.web.pruning_plan import PlanReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDashboard:
    url: str
    """With the token: whoever has it may look."""
    dashboard: Dashboard

    async def run(self) -> None:
        """Follows the cluster until cancelled."""
        await self.dashboard.run()


@asynccontextmanager
async def opened(
    client: Kube, clock: Clock, *, port: int = 0, cluster: str = "", plan: Path | None = None
) -> AsyncIterator[ServedDashboard]:
    """Serves the page while the block runs."""
    dashboard = Dashboard(client, clock, cluster=cluster, plan=PlanReader(plan))
    details = Details(dashboard)
    answers = {
        "/details/cell": details.cell,
        "/details/set": details.image_set,
        "/details/node": details.node,
        "/details/image": details.image,
        "/details/plan": details.plan,
    }
    async with server.serve(dashboard.hub, answers, port=port) as url:
        yield ServedDashboard(url=url, dashboard=dashboard)
