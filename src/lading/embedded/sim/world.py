"""A whole cluster in one simulated machine room: API server, registry, controllers and nodes.

All of it is the real code: the servers are those of `lading up`, the processes those of
`lading controller` and `lading agent`. Only time, chance, network and disk are simulated.
"""

import asyncio
import random
import uuid
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry

from lading.adapters.cri.client import CriClient
from lading.adapters.cri.pins_containerd import ContainerdPins
from lading.adapters.disk import LimitedDisk
from lading.adapters.kube.client import KubeClient
from lading.adapters.kube.retry import Retrying
from lading.adapters.kubelet import FixedLimits
from lading.adapters.registry.client import RegistryClient
from lading.adapters.registry.credentials import Anonymous
from lading.adapters.registry.endpoints import DirectRouting
from lading.adapters.registry.retries import ClientLimits, Retries
from lading.adapters.registry.transport import Sessions, Transport
from lading.api.core import NODES
from lading.embedded import node as nodes
from lading.embedded.api_server import Authorized
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.node import LINUX_AMD64, NodeDescription
from lading.embedded.registry import server as registry_server
from lading.embedded.registry.core import RegistryCore
from lading.embedded.sim import kinds
from lading.embedded.sim.disk import Disk
from lading.embedded.sim.event_loop import SimulatedLoop
from lading.embedded.sim.kinds import TOKEN
from lading.embedded.sim.network import ApiLine, Network
from lading.embedded.sim.processes import CURRENT, Process
from lading.embedded.sim.runtime_line import RuntimeLine
from lading.embedded.sim.trace import Trace
from lading.loop.election import Timing
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports.node import KubeletLimits, NodeParts, NodeRuntime
from lading.runtime_images.gc_types import GcPolicy
from lading.wire.handlers import Service
from lading.wiring import agent, controller
from lading.wiring.gates import parse_gates
from lading.wiring.registries import ImageCredentials

REGISTRY_SOCKET = "/registry.sock"
CONTROL = "control"
"""The host of API server, registry and controllers."""
START = datetime(2026, 1, 1, tzinfo=UTC)
RESTART_SECONDS_MAX = 10.0
ELECTION = Timing(lease_seconds=60, renew_deadline_seconds=40, retry_seconds=12)
"""Slower than by default: a renewal is the only thing that a steady cluster does."""


def chance(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - drawn from the seed of the run, not a secret


class SimulatedClock:
    """The clock of one host: its wall clock may be wrong."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.offset = timedelta(0)

    def now(self) -> datetime:
        return START + timedelta(seconds=self._loop.time()) + self.offset

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class SimulatedNode:
    def __init__(
        self, name: str, description: NodeDescription, clock: SimulatedClock, folder: Path
    ) -> None:
        self.name = name
        self.description = description
        self.clock = clock
        self.disk = Disk()
        self.folder = folder
        self.runtime: EmbeddedRuntime | None = None
        """The store of the last process of the runtime."""
        self.services: Mapping[str, Service] = {}
        self.losses: dict[str, float] = {}
        """When a person last removed or unpinned each image."""

    def note_loss(self, image: str, at_seconds: float) -> None:
        self.losses[image] = at_seconds


class World:
    def __init__(self, seed: str, folder: Path) -> None:
        self.rng = chance(f"{seed}/world")
        self.trace = Trace()
        self.network = Network(chance(f"{seed}/network"), self.trace)
        self.loop = SimulatedLoop(  # type: ignore[abstract]  # the rest is for real machines
            chance(f"{seed}/order"), self.network
        )
        self.clock = SimulatedClock(self.loop)
        self.folder = folder
        self.storage = kinds.installed()
        self.registry = RegistryCore.on(folder / "registry")
        self.nodes: dict[str, SimulatedNode] = {}
        self.processes: dict[str, Process] = {}
        self.works: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        """How each process starts again."""
        self.exits: list[str] = []
        self.all_metrics: list[tuple[str, Metrics]] = []
        """Of all processes that ever started, by their names."""
        self._installations = 0
        self._uids = chance(f"{seed}/uids")
        self.api_server = self._process("api-server", CONTROL)
        self.core: Core
        self.kube: KubeClient
        """As administrator, without faults."""

    def note(self, kind: str, text: str, process: str = "") -> None:
        self.trace.add(self.loop.time(), process or CURRENT.get().name, kind, text)

    async def open(self, node_names: tuple[str, ...]) -> None:
        """Starts everything."""
        await self.loop.start(self.api_server, self._serve_api())
        self.kube = KubeClient(Authorized(self.core, TOKEN))
        registry = self._process("registry", CONTROL)
        await self.loop.start(registry, self._serve_registry())
        for name in node_names:
            await self.add_node(name)
        for name in ("controller-a", "controller-b"):
            self.start(name, CONTROL, partial(self._control, name))

    async def add_node(self, name: str) -> None:
        description = NodeDescription(name=name)
        self._installations += 1
        folder = self.folder / f"{name}-{self._installations}"
        node = SimulatedNode(name, description, SimulatedClock(self.loop), folder)
        self.nodes[name] = node
        await nodes.register(self.kube, description, self.clock)
        self.start(f"runtime-{name}", name, lambda: self._serve_runtime(node))
        self.start(f"agent-{name}", name, lambda: self._agent(node))

    async def remove_node(self, name: str) -> None:
        """The machine and its disk are gone; an administrator deletes the Node."""
        for process in (f"agent-{name}", f"runtime-{name}"):
            self.works.pop(process, None)
            self.kill(process)
        del self.nodes[name]
        await self.kube.delete(NODES, name)

    def close(self) -> None:
        """Nothing of the world runs any more; a process that is cleaned up would go on."""
        for process in self.processes.values():
            self.loop.kill(process)
        self.loop.kill(self.loop.outside)
        self.loop.close()

    # Processes

    def start(self, name: str, host: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.works[name] = work
        self.network.hosts[name] = host
        self._run(name)

    def _process(self, name: str, host: str) -> Process:
        self.network.hosts[name] = host
        process = self.processes[name] = Process(name)
        return process

    def _run(self, name: str) -> None:
        process = self._process(name, self.network.hosts[name])
        self.note("start", "", name)
        self.loop.start(process, self._watched(process, self.works[name]))

    async def _watched(
        self, process: Process, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """A process that ends is started again, as a kubelet does."""
        try:
            await work()
            why = "it returned"
        except BaseException as error:  # noqa: BLE001 - whatever ends a process
            why = _named(error)
        self.note("exit", why, process.name)
        self.exits.append(f"{self.loop.time():.3f} {process.name}: {why}")
        self.kill(process.name)
        self.restart_later(process.name)

    def kill(self, name: str) -> None:
        process = self.processes[name]
        if process.is_alive:
            self.note("kill", "", name)
            self.loop.kill(process)

    def restart_later(self, name: str) -> None:
        seconds = 0.1 + self.rng.random() * RESTART_SECONDS_MAX
        context = self.loop.outside.context.copy()
        self.loop.call_later(seconds, self._restart, name, context=context)

    def _restart(self, name: str) -> None:
        if name in self.works and not self.processes[name].is_alive:
            self._run(name)

    # What the processes do

    async def _serve_api(self) -> None:
        self.core = Core(self.storage, self.clock, tokens={TOKEN: ADMIN}, uid_source=self._draw_uid)

    def _draw_uid(self) -> str:
        return str(uuid.UUID(int=self._uids.getrandbits(128), version=4))

    async def _serve_registry(self) -> None:
        runner = web.AppRunner(
            registry_server.make_app(self.registry, None), access_log=None, handle_signals=False
        )
        await runner.setup()
        assert runner.server is not None
        await self.loop.create_unix_server(runner.server, REGISTRY_SOCKET)

    async def _serve_runtime(self, node: SimulatedNode) -> None:
        registry = self.registry_client(node.clock)
        node.runtime = EmbeddedRuntime(
            root=node.folder,
            registry=registry,
            clock=node.clock,
            platform=node.description.platform,
            capacity_bytes=node.description.capacity_bytes,
        )
        node.services = {one.name: one for one in cri_server.services(node.runtime)}
        await asyncio.Event().wait()

    def _opened_runtime(self, node: SimulatedNode) -> NodeRuntime:
        def server() -> tuple[Process, Mapping[str, Service]]:
            return self.processes[f"runtime-{node.name}"], node.services

        line = RuntimeLine(self.loop, self.network, server)
        client = CriClient(line)
        return NodeRuntime(cri=client, pins=ContainerdPins(line, client, node.clock))

    def registry_client(self, clock: SimulatedClock) -> RegistryClient:
        limits = ClientLimits()
        session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(REGISTRY_SOCKET),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=limits.connect_seconds_max,
                sock_read=limits.stall_seconds_max,
            ),
        )
        sessions = Sessions(any_address=session, remote_only=session)
        jitter = chance(f"{self.rng.random()}").random
        return RegistryClient(
            Transport(sessions, clock, limits, {}),
            DirectRouting(),
            Anonymous(),
            Retries(clock, limits, jitter),
        )

    def kube_client(self, rng: random.Random, clock: SimulatedClock) -> KubeClient:
        line = ApiLine(self.loop, self.network, self.api_server, Authorized(self.core, TOKEN))
        return KubeClient(Retrying(line, clock, jitter=rng.random))

    async def _agent(self, node: SimulatedNode) -> None:
        rng = chance(f"{self.rng.random()}")
        opened = self._opened_runtime(node)
        registry = self.registry_client(node.clock)
        parts = NodeParts(
            runtime=opened,
            registry=registry,
            credentials=ImageCredentials(source=Anonymous(), routing=DirectRouting()),
            disk=LimitedDisk(opened.cri, capacity_bytes=node.description.capacity_bytes),
            kubelet=FixedLimits(KubeletLimits()),
            platform_of=lambda _handler: LINUX_AMD64,
            state=node.disk,
        )
        made = await agent.open_agent(
            parts,
            node_name=node.name,
            kube=self.kube_client(rng, node.clock),
            clock=node.clock,
            metrics=self._metrics(f"agent-{node.name}"),
            gates=parse_gates(""),
            settings=(PinSettings(), GcPolicy()),
            rng=rng,
        )
        await made.run()

    def _metrics(self, process: str) -> Metrics:
        made = Metrics(CollectorRegistry())
        self.all_metrics.append((process, made))
        return made

    async def _control(self, name: str) -> None:
        rng = chance(f"{self.rng.random()}")
        metrics = self._metrics(name)
        kube = self.kube_client(rng, self.clock)
        made = controller.controllers(
            kube=kube,
            clock=self.clock,
            metrics=metrics,
            rng=rng,
            gates=parse_gates(""),
            instance=name,
            elector=controller.elector(
                kube=kube,
                clock=self.clock,
                metrics=metrics,
                rng=rng,
                namespace="default",
                identity=f"{name}_{self._draw_uid()}",
                timing=ELECTION,
            ),
        )
        await made.run()


def _named(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_named(one) for one in error.exceptions)
    return f"{type(error).__name__}: {error}"
