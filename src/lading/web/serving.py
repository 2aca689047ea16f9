"""One dashboard with its server, for `lading dashboard` and `lading up`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.web import server
from lading.web.dashboard import Dashboard
from lading.web.details import Agents, Details, SetPlanner
from lading.web.pruning_plan import PlanReader


class ServedDashboard(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    """Contains the token, which is all that a reader needs."""
    dashboard: Dashboard

    async def run(self) -> None:
        """Follows the cluster until cancelled."""
        await self.dashboard.run()


@asynccontextmanager
async def opened(
    client: Kube,
    clock: Clock,
    *,
    port: int = 0,
    cluster: str = "",
    plan: PlanReader | None = None,
    planner: SetPlanner | None = None,
    agents: Agents | None = None,
) -> AsyncIterator[ServedDashboard]:
    """Serves the page while the block runs.

    `planner` plans sets that are not applied yet, `agents` are asked about what is open.
    """
    dashboard = Dashboard(client, clock, cluster=cluster, plan=plan)
    details = Details(dashboard, planner, agents)
    answers = {
        "/details/cell": details.cell,
        "/details/set": details.image_set,
        "/details/node": details.node,
        "/details/collection": details.collection,
        "/details/image": details.image,
        "/details/plan": details.plan,
        "/details/contents": details.contents,
        "/details/why": details.why,
        "/details/pin-plan": details.pin_plan,
    }
    plans = {"/plans/sets": details.dropped_plan}
    async with server.serve(dashboard.hub, answers, plans, port=port) as url:
        yield ServedDashboard(url=url, dashboard=dashboard)
