"""What `lading doctor` finds on this machine, and about the nodes of a cluster."""

import os
from pathlib import Path

import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import NODES
from lading.cli.doctor import node_checks
from lading.cli.doctor.findings import CheckResult
from lading.embedded.api_server import Authorized
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.kernel.values import replace
from lading.ports.cri import RuntimeStatus
from lading.ports.node import KubeletLimits, Space
from lading.wiring.host import machine_platform
from lading.wiring.registries import open_registries


class Starting(EmbeddedRuntime):
    async def status(self) -> RuntimeStatus:
        return replace(await super().status(), ready=False)


async def test_a_runtime_that_is_not_ready_fails(tmp_path: Path) -> None:
    async with open_registries(SystemClock(), host_root=tmp_path, environment={}) as registries:
        runtime = Starting(
            root=tmp_path / "images",
            registry=registries.client,
            clock=SystemClock(),
            platform=machine_platform(),
        )
        async with cri_server.serve(runtime, tmp_path / "cri.sock") as endpoint:
            found = await node_checks.examine(endpoint)
    first, handlers, *_ = found
    assert (first.check, first.result) == ("Runtime", "failed")
    assert first.found.endswith("It reports that it is not ready.")
    assert handlers.found == "Runtime handlers: the default."


def test_a_socket_that_the_user_may_not_use_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may use any."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = node_checks.socket(f"unix://{tmp_path}")
    assert found is not None
    assert (found.result, found.next_step) == ("failed", "run `lading doctor` as root")


@pytest.mark.parametrize(
    ("used_percent", "result"), [(0, "ok"), (79, "ok"), (80, "warning"), (85, "failed")]
)
def test_disks_near_the_threshold_of_the_kubelet(used_percent: int, result: str) -> None:
    space = Space(capacity_bytes=1000, available_bytes=1000 - 10 * used_percent)
    found = node_checks.judged("node-1", KubeletLimits(), space, check="Disk")
    assert found.result == result
    assert found.found.startswith(f"node-1: {used_percent}% of the image disk is used")


def test_a_disk_without_a_size_is_full_and_no_crash() -> None:
    space = Space(capacity_bytes=0, available_bytes=0)
    assert (
        node_checks.judged("node-1", KubeletLimits(), space, check="Disk").result
        is CheckResult.FAILED
    )


async def test_only_some_kubelets_are_asked_and_a_silent_one_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No kubelet is behind the nodes."""
    monkeypatch.setattr(node_checks, "NODES_ASKED_MAX", 2)
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    client = KubeClient(Authorized(core, "t"))
    for name in ("node-1", "node-2", "node-3"):
        await client.create(NODES, {"metadata": {"name": name}})
    found = [one async for one in node_checks.limits(client)]
    await core.close()
    assert {one.result for one in found} == {CheckResult.SKIPPED}
    assert [one.found.partition(":")[0] for one in found] == [
        "node-1",
        "node-2",
        "1 more nodes were not asked.",
    ]


async def test_without_the_kind_no_node_checks() -> None:
    core = Core(MemoryStorage(), SystemClock(), tokens={"t": ADMIN})
    client = KubeClient(Authorized(core, "t"))
    await client.create(NODES, {"metadata": {"name": "node-1"}})
    (found,) = [one async for one in node_checks.nodes(client)]
    await core.close()
    assert (found.result, found.found) == ("failed", "1 of 1 nodes do not report: node-1.")
