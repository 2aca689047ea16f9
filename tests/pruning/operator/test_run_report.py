"""When a Job reports, and where."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.api.imageregistry import PruneRunPhase
from lading.ports import kube
from lading.ports.kube import Kube
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator.run_report import RunReport


@dataclass
class Applied:
    """An API server that keeps what is applied, or refuses it."""

    is_refusing: bool = False
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)

    async def apply(self, resource: object, body: dict[str, Any], **options: Any) -> None:
        self.seen.append((body, options))
        if self.is_refusing:
            raise kube.Forbidden("no")


def report(api: Applied, clock: VirtualClock, *, to_map: bool = False) -> RunReport:
    return RunReport(
        api=cast(Kube, api),
        clock=clock,
        progress=PruneProgress(),
        name="main",
        pod="prune-7-abcde",
        namespace="images",
        to_map=to_map,
    )


@pytest.mark.parametrize("is_refusing", [False, True])
async def test_a_run_reports_at_most_every_30_seconds(is_refusing: bool) -> None:
    api, clock = Applied(is_refusing=is_refusing), VirtualClock()
    work = asyncio.create_task(report(api, clock).run())
    counts = []
    for seconds in (0, 29, 1, 60):
        await clock.advance(seconds)
        counts.append(len(api.seen))
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    assert counts == [1, 1, 2, 4]


async def test_the_report_is_the_jobs_own_part_of_the_status() -> None:
    api = Applied()
    await report(api, VirtualClock()).write(PruneRunPhase.SUCCEEDED, "done")
    ((body, options),) = api.seen
    (run,) = body["status"]["lastRun"]
    assert (run["name"], run["job"], run["phase"]) == ("main", "prune-7", "Succeeded")
    assert (body["metadata"], options["subresource"]) == ({"name": "cluster"}, "status")
    assert options["field_manager"] == "lading-prune-main", "each registry owns its entry"


async def test_the_report_in_a_config_map_has_a_key_for_each_registry() -> None:
    api = Applied()
    await report(api, VirtualClock(), to_map=True).write(PruneRunPhase.FAILED, "broken")
    ((body, options),) = api.seen
    assert body["metadata"] == {"name": "lading-image-pruner-report", "namespace": "images"}
    assert msgspec.json.decode(body["data"]["main"])["message"] == "broken"
    assert options["subresource"] == ""
