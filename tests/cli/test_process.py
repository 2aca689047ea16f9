"""What a long-running command opens: a client for its work, and one for its lease."""

import asyncio
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.retry import BURST_REQUESTS
from lading.cli import process as processes
from lading.cli.process import ServingProcess
from lading.observability.metrics import Metrics
from lading.ports.http import Request
from lading.wiring import clusters
from tests.adapters.kube import stand

WAIT_SECONDS_MAX = 60.0  # for a busy machine
LIMITED_SECONDS = 1.0


async def test_renewals_of_the_lease_are_not_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time stands still, so that no request is granted beyond the burst of the rate limit."""
    monkeypatch.setattr(processes, "system_clock", VirtualClock)
    process = ServingProcess(
        metrics_host="127.0.0.1", metrics_port=0, metrics=Metrics(CollectorRegistry())
    )
    async with stand.running(stand.answer({})) as server:
        connection = clusters.find({}, file=kubeconfig(tmp_path / "kubeconfig", server.url))
        async with (
            process.open_kube(connection) as kube,
            process.open_lease_kube(connection) as lease_kube,
        ):
            with pytest.raises(TimeoutError):
                await send(kube, seconds_max=LIMITED_SECONDS)
            await send(lease_kube, seconds_max=WAIT_SECONDS_MAX)


async def send(client: KubeClient, *, seconds_max: float) -> None:
    async with asyncio.timeout(seconds_max):
        for _ in range(BURST_REQUESTS + 1):
            await client.send(Request(method="GET", path="/api"))


def kubeconfig(path: Path, url: str) -> Path:
    content = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(yaml.safe_dump(content))
    return path
