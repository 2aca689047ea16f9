"""What a large fleet costs the controller, and what a rollout sends to every agent.

    python -m bench.fleet          (needs root and `make real-setup`)

`lading controller` is a process of its own with the rights of `deploy/`, on a real kube-apiserver
and etcd. Agents are played by writers of `status`: one report while they pull and one when all is
pinned. CPU seconds count, not the clock's: the API server and the writers share the machine.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench import fleet_agents, fleet_objects
from bench.agent_idle import TICKS_PER_SECOND, megabytes
from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.connection import Connection
from lading.api.core import LEASES, NODES
from lading.api.machineconfiguration.machine_config_node import MACHINE_CONFIG_NODES
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS, PinnedImageSet
from lading.kernel import conditions
from lading.loop import tasks
from lading.observability import logs
from lading.observability.logs import LogFormat
from lading.ports.http import Request
from lading.ports.kube import Selection
from lading.wiring.controller import LEASE_NAME
from tests.deploy.manifests import NAMESPACE
from tests.e2e.programs import Program
from tests.real import installed
from tests.real.bed import api_server

NODES_FEW, NODES_MANY = 500, 5000
SETS = 20
IMAGES_FEW, IMAGES_MANY = 50, 500
WATCHERS = 50
POOLS = 2
WAIT_SECONDS_MAX = 900.0
POLL_SECONDS = 0.25
CPU_SECONDS_MAX = 20.0
RESIDENT_MB_MAX = 150.0
READY_SECONDS_MAX = 5.0
GROWTH_MAX = 1.3
BYTES_RATIO_MAX = 3.0
TURN_MILLISECONDS_MAX = 50.0
METRICS_OF_PROGRESS = (
    "lading_client_requests_total",
    "lading_informer",
    "lading_leader",
    "lading_pinned_images",
    "lading_queue_depth",
    "lading_reconciles_total",
)
WRITING = ("POST", "PATCH", "PUT", "DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    server: api_server.ApiServer
    connection: Connection
    kube: KubeClient
    controller: Program
    turn: Path
    """Where the controller writes its longest turn when it ends."""
    nodes: int

    @property
    def names(self) -> list[str]:
        return [fleet_objects.node_name(number) for number in range(self.nodes)]


@contextlib.asynccontextmanager
async def fleet_of(nodes: int, folder: Path) -> AsyncIterator[Fleet]:
    """An API server with these Nodes and Lading installed; the controller does not run yet."""
    with api_server.api_server() as server:
        connection = connect.find({}, file=server.kubeconfig_path)
        clock = SystemClock()
        async with connect.connect(connection, clock, requests_per_second=None) as kube:
            numbers = range(nodes)
            await fleet_agents.each(
                numbers, lambda number: kube.create(NODES, fleet_objects.node(number))
            )
            installation = installed.on_api_server(
                server, folder, registry_host="localhost", node_name=fleet_objects.node_name(0)
            )
            turn = folder / "turn"
            controller = Program(
                name="controller",
                arguments=(
                    "controller",
                    f"--kubeconfig={installation.controller_kubeconfig}",
                    f"--namespace={NAMESPACE}",
                ),
                log=folder / "controller.log",
                command=(sys.executable, "-m", "bench.fleet_controller", str(turn)),
            )
            yield Fleet(
                server=server,
                connection=connection,
                kube=kube,
                controller=controller,
                turn=turn,
                nodes=nodes,
            )


async def until(fleet: Fleet, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not await is_so():
        fleet.controller.check_running()
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not within {WAIT_SECONDS_MAX:g} s: {what}\n{await why_not(fleet)}"
            )
        await asyncio.sleep(POLL_SECONDS)


async def why_not(fleet: Fleet) -> str:
    """What tells a lost wake-up from a slow server: counts, queues, retries, watches."""
    sets = (await fleet.kube.page(PINNED_IMAGE_SETS)).items
    metrics = (await fleet.controller.get("/metrics")).decode().splitlines()
    return "\n".join(
        [
            *(f"{one.metadata.name}: {one.status}" for one in sets),
            *(line for line in metrics if line.startswith(METRICS_OF_PROGRESS)),
            fleet.controller.log_tail(),
        ]
    )


def cpu_seconds(program: Program) -> float:
    fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def resident_mb(program: Program, field: str) -> float:
    lines = Path(f"/proc/{program.pid}/status").read_text().splitlines()
    return megabytes(dict(line.split(":", 1) for line in lines)[field])


async def described(fleet: Fleet) -> bool:
    page = await fleet.kube.page(MACHINE_CONFIG_NODES, limit=1)
    return len(page.items) + (page.remaining_item_count or 0) >= fleet.nodes


async def make_sets(fleet: Fleet, images: int) -> list[PinnedImageSet]:
    """The sets, as soon as every pool has them."""
    made: list[PinnedImageSet] = []

    async def make(number: int) -> None:
        body = fleet_objects.image_set(number, images)
        made.append(await fleet.kube.create(PINNED_IMAGE_SETS, body))

    await fleet_agents.each(range(SETS), make)

    async def are_entered() -> bool:
        pool = await fleet.kube.get(MACHINE_CONFIG_POOLS, "worker")
        return len(pool.spec.pinned_image_sets) == SETS

    await until(fleet, are_entered, "the pool has every set")
    return made


async def all_are_ready(fleet: Fleet) -> bool:
    found = (await fleet.kube.page(PINNED_IMAGE_SETS)).items
    return all(conditions.is_true(one.status.conditions, "Ready") for one in found)


async def writes(program: Program) -> float:
    prefix = "lading_client_requests_total"
    return sum(
        [
            await program.counted(f'{prefix}{{code="20{code}",method="{method}"')
            for method in WRITING
            for code in (0, 1)
        ]
    )


class Renewals:
    """Writes of the lease, which are not of the rollout."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self.count = 0

    async def watch(self) -> None:
        only = Selection(namespace=NAMESPACE, field_selector=f"metadata.name={LEASE_NAME}")
        async for event in self._kube.watch(LEASES, only, timeout_seconds=3600):
            self.count += event.object is not None


async def rollout(fleet: Fleet, images: int) -> float:
    """All agents report twice; the seconds between the last report and the last Ready set."""
    sets = await make_sets(fleet, images)
    await fleet_agents.report(fleet.kube, fleet.names, sets, is_done=False)
    await fleet_agents.report(fleet.kube, fleet.names, sets, is_done=True)
    ended_at = time.monotonic()
    await until(fleet, lambda: all_are_ready(fleet), "every set is Ready")
    return time.monotonic() - ended_at


async def measure_cpu(nodes: int, folder: Path) -> dict[str, float]:
    async with fleet_of(nodes, folder) as fleet:
        controller = fleet.controller
        try:
            return await _measure_cpu(fleet)
        finally:
            await controller.kill()


async def _measure_cpu(fleet: Fleet) -> dict[str, float]:
    controller, renewals = fleet.controller, Renewals(fleet.kube)
    await controller.start()
    at_start = cpu_seconds(controller)
    await until(fleet, lambda: described(fleet), "every node is described")
    at_described = cpu_seconds(controller)
    async with tasks.started(renewals.watch()):
        await asyncio.sleep(2)
        writes_before, renewals_before = await writes(controller), renewals.count
        ready_seconds = await rollout(fleet, IMAGES_FEW)
        at_ready = cpu_seconds(controller)
        await asyncio.sleep(5)
        written = await writes(controller) - writes_before
        renewed = renewals.count - renewals_before
    leads = await controller.counted("lading_leader{") == 1
    resident, peak = resident_mb(controller, "VmRSS"), resident_mb(controller, "VmHWM")
    assert await controller.stop() == 0, "the lease was lost"
    return {
        "describe_cpu_seconds": at_described,
        "rollout_cpu_seconds": at_ready - at_described,
        "cpu_milliseconds_per_node": 1000 * (at_ready - at_start) / fleet.nodes,
        "resident_mb": resident,
        "resident_peak_mb": peak,
        "ready_after_seconds": ready_seconds,
        "writes": written - renewed,
        "still_leads": float(leads),
        "longest_turn_milliseconds": float(fleet.turn.read_text()),
    }


async def measure_bytes(folder: Path) -> float:
    """The bytes that an agent receives in a rollout, in bytes of its sets."""
    async with fleet_of(WATCHERS, folder) as fleet, contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(fleet.controller.kill)
        await fleet.controller.start()
        await until(fleet, lambda: described(fleet), "every node is described")
        received = [
            await stack.enter_async_context(fleet_agents.watching(fleet.connection, name))
            for name in fleet.names
        ]
        await rollout(fleet, IMAGES_MANY)
        await asyncio.sleep(5)
        names = [fleet_objects.set_name(number) for number in range(SETS)]
        paths = [PINNED_IMAGE_SETS.path(name=name) for name in names]
        sets = [await fleet.kube.send(Request(method="GET", path=path)) for path in paths]
        return max(one.total_bytes for one in received) / sum(map(len, sets))


async def measure(folder: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for nodes in (NODES_FEW, NODES_MANY):
        (own := folder / str(nodes)).mkdir()
        for what, number in (await measure_cpu(nodes, own)).items():
            found[f"{what}_{nodes}"] = number
    (own := folder / "bytes").mkdir()
    found["bytes_received_per_byte_of_sets"] = await measure_bytes(own)
    many = f"_{NODES_MANY}"
    growth = (
        found[f"cpu_milliseconds_per_node{many}"] / found[f"cpu_milliseconds_per_node_{NODES_FEW}"]
    )
    shares = {
        "describe_cpu": found[f"describe_cpu_seconds{many}"] / CPU_SECONDS_MAX,
        "rollout_cpu": found[f"rollout_cpu_seconds{many}"] / CPU_SECONDS_MAX,
        "resident": found[f"resident_peak_mb{many}"] / RESIDENT_MB_MAX,
        "ready": found[f"ready_after_seconds{many}"] / READY_SECONDS_MAX,
        "writes": found[f"writes{many}"] / (3 * SETS + 3 * POOLS + NODES_MANY),
        "growth": growth / GROWTH_MAX,
        "bytes": found["bytes_received_per_byte_of_sets"] / BYTES_RATIO_MAX,
        "longest_turn": found[f"longest_turn_milliseconds{many}"] / TURN_MILLISECONDS_MAX,
    }
    return {**found, **{f"{what}_share_of_limit": number for what, number in shares.items()}}


def run() -> dict[str, float]:
    logs.configure(LogFormat.CONSOLE, "warning")
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
