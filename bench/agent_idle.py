"""What an agent costs that has nothing to do: memory, CPU and API requests over a minute.

    python -m bench.agent_idle

`lading agent` is a process of its own, with its usual settings, beside an embedded API server,
registry and runtime. One set of 20 images is complete before the minute begins.
"""

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from lading.adapters.clock import SystemClock
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import cluster, sample_images
from lading.embedded.cluster import ClusterOptions, StandaloneCluster
from lading.embedded.node import NodeDescription
from lading.kernel import references
from lading.loop import tasks
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.ports import kube
from tests.e2e import programs, waiting
from tests.e2e.programs import Program

IDLE_SECONDS = 60.0
IMAGES = 20
IMAGE_BYTES = 64 * 1024
NODE = "node-1"
SET = "idle"
NO_KUBELET_PORT = "1"
RESIDENT_MB_MAX = 60.0
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    resident_mb: float
    private_mb: float
    """Without what it shares with other processes: programs and libraries."""
    cpu_seconds: float
    api_requests: float


def agent_of(running: StandaloneCluster, folder: Path) -> Program:
    return Program(
        name="agent",
        arguments=(
            "agent",
            f"--node={NODE}",
            f"--runtime-endpoint={running.nodes[0].endpoint}",
            f"--state-dir={folder / 'state'}",
            f"--kubelet-port={NO_KUBELET_PORT}",
            f"--kubeconfig={running.api.kubeconfig}",
        ),
        log=folder / "agent.log",
    )


@contextlib.asynccontextmanager
async def idle_agent(folder: Path) -> AsyncIterator[Program]:
    """The cluster's own agent does not run: the measured process is the node's only one."""
    options = ClusterOptions(data=folder, nodes=(NodeDescription(name=NODE),))
    async with cluster.open_cluster(options, SystemClock()) as running:
        agent = agent_of(running, folder)
        async with tasks.started(running.controllers.run()), programs.running(agent):
            await make_set(running)
            await waiting.until(lambda: is_done(running), "the agent holds the set")
            yield agent


async def make_set(running: StandaloneCluster) -> None:
    images = []
    for number in range(IMAGES):
        sample = sample_images.image([{"content": sample_images.noise(str(number), IMAGE_BYTES)}])
        reference = references.parse(f"{running.registry_host}/idle/image:{number}")
        images.append(await sample_images.push(running.registries.client, reference, sample))
    body = {
        "apiVersion": PINNED_IMAGE_SETS.api_version,
        "kind": PINNED_IMAGE_SETS.kind,
        "metadata": {"name": SET, "labels": {group.ROLE_LABEL: "worker"}},
        "spec": {"pinnedImages": [{"name": str(image)} for image in images]},
    }
    await running.kube.create(PINNED_IMAGE_SETS, body)


async def is_done(running: StandaloneCluster) -> bool:
    with contextlib.suppress(kube.NotFound):
        report = await running.kube.get(MACHINE_CONFIG_NODES, NODE)
        return any(entry.current_generation for entry in report.status.pinned_image_sets)
    return False


async def cost_so_far(agent: Program) -> Cost:
    process = Path(f"/proc/{agent.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    # The fields after the name, which may itself hold spaces.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return Cost(
        resident_mb=megabytes(status["VmRSS"]),
        private_mb=megabytes(status["RssAnon"]),
        cpu_seconds=(int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND,
        api_requests=await api_requests(agent),
    )


def megabytes(text: str) -> float:
    """What the kernel means by `70811 kB`."""
    return int(text.split()[0]) * 1024 / 1e6


async def api_requests(agent: Program) -> float:
    async with aiohttp.ClientSession() as session, session.get(f"{agent.url}/metrics") as answer:
        text = await answer.text()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "lading_client_requests_total"
    )


async def measure(folder: Path) -> dict[str, float]:
    async with idle_agent(folder) as agent:
        before = await cost_so_far(agent)
        await asyncio.sleep(IDLE_SECONDS)
        after = await cost_so_far(agent)
    return {
        "images_pinned": float(IMAGES),
        "idle_seconds": IDLE_SECONDS,
        "resident_mb": after.resident_mb,
        "private_mb": after.private_mb,
        "resident_share_of_limit": after.resident_mb / RESIDENT_MB_MAX,
        "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
        "api_requests": after.api_requests - before.api_requests,
        "api_requests_from_the_start": after.api_requests,
    }


def run() -> dict[str, float]:
    logs.configure(LogFormat.CONSOLE, "warning")
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
