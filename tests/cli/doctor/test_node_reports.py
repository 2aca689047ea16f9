"""The judgements of `lading doctor` about disks, and of how many nodes there are any."""

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.cli.doctor import node_reports
from lading.cli.doctor.findings import CheckResult
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits
from lading.servers.kube.authentication import ADMIN
from lading.servers.kube.core import Core
from lading.servers.kube.storage.memory import MemoryStorage
from lading.standalone.api_server import Authorized


@pytest.mark.parametrize(
    ("used_percent", "result"), [(0, "ok"), (79, "ok"), (80, "warning"), (85, "failed")]
)
def test_disks_near_the_threshold_of_the_kubelet(used_percent: int, result: str) -> None:
    space = Space(capacity_bytes=1000, available_bytes=1000 - 10 * used_percent)
    found = node_reports.judged("node-1", KubeletLimits(), space, check="Disk")
    assert found.result == result
    assert found.found.startswith(f"node-1: {used_percent}% of the image disk is used")


def test_a_disk_without_a_size_is_full_and_no_crash() -> None:
    space = Space(capacity_bytes=0, available_bytes=0)
    assert (
        node_reports.judged("node-1", KubeletLimits(), space, check="Disk").result
        is CheckResult.FAILED
    )


async def test_only_some_kubelets_are_asked_and_a_silent_one_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No kubelet is behind the nodes."""
    monkeypatch.setattr(node_reports, "NODES_ASKED_MAX", 2)
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    client = KubeClient(Authorized(core, "t"))
    for name in ("node-1", "node-2", "node-3"):
        await client.create(NODES, {"metadata": {"name": name}})
    found = [one async for one in node_reports.limits(client)]
    await core.close()
    assert {one.result for one in found} == {CheckResult.SKIPPED}
    assert [one.found.partition(":")[0] for one in found] == [
        "node-1",
        "node-2",
        "1 more nodes were not asked.",
    ]


async def test_without_the_kind_no_node_reports() -> None:
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    client = KubeClient(Authorized(core, "t"))
    await client.create(NODES, {"metadata": {"name": "node-1"}})
    (found,) = [one async for one in node_reports.nodes(client)]
    await core.close()
    assert (found.result, found.found) == ("failed", "1 of 1 nodes do not report: node-1.")
