"""A whole cluster in memory: API server, controllers and agents are real, the runtimes are not."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import EVENTS, NODES
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import (
    MACHINE_CONFIG_NODES,
    MachineConfigNode,
    MachineConfigNodeStatus,
    NodePinnedImageSet,
)
from lading.api.machineconfiguration.machine_config_pool import MACHINE_CONFIG_POOLS
from lading.api.machineconfiguration.pinned_image_set import PINNED_IMAGE_SETS
from lading.embedded import node as nodes
from lading.embedded.api_server import Authorized
from lading.embedded.kube.authentication import ADMIN
from lading.embedded.kube.core import Core
from lading.embedded.kube.storage.memory import MemoryStorage
from lading.embedded.node import NodeDescription
from lading.installation import apply as installation
from lading.kernel import conditions
from lading.kernel.conditions import Condition
from lading.kernel.pacing import Pacing
from lading.loop.feature import Runnable
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports import kube
from lading.ports.http import HttpTransport, Request, Response
from lading.ports.kube import Selection
from lading.wiring import agent, controller
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import parse_gates
from tests.pinned_images.node import whole_nodes
from tests.pinned_images.node.whole_nodes import Registry, Runtime

WAIT_SECONDS_MAX = 60.0
POLL_SECONDS = 0.02
ROUND = timedelta(seconds=0.5)
QUICK = (Pacing(debounce_seconds=0.1),)
"""For clusters whose writes are not counted."""
CLOCK = SystemClock()
CHANCE = random.Random(1)


@dataclass
class Line:
    """The agents' way to the API server: it can be cut, and what they say can be overheard."""

    server: HttpTransport
    is_cut: bool = False
    on_status: Callable[[MachineConfigNodeStatus], None] = lambda status: None

    async def __call__(self, request: Request) -> Response:
        if self.is_cut:
            raise kube.Unavailable("the line is cut")
        if request.method == "PATCH" and request.path.endswith("/status"):
            status = msgspec.json.decode(request.body)["status"]
            self.on_status(msgspec.convert(status, MachineConfigNodeStatus))
        return await self.server(request)


@dataclass
class WholeCluster:
    kube: KubeClient
    """As administrator."""
    line: Line
    runtimes: dict[str, Runtime]

    async def make_set(self, name: str, *images: str, role: str = "worker", **spec: Any) -> None:
        await self.kube.create(
            PINNED_IMAGE_SETS,
            {
                "apiVersion": PINNED_IMAGE_SETS.api_version,
                "kind": PINNED_IMAGE_SETS.kind,
                "metadata": {"name": name, "labels": {group.ROLE_LABEL: role}},
                "spec": {"pinnedImages": [{"name": image} for image in images], **spec},
            },
        )

    async def edit_set(self, name: str, *images: str) -> None:
        patch = {"spec": {"pinnedImages": [{"name": image} for image in images]}}
        await self.kube.patch(PINNED_IMAGE_SETS, name, patch)

    async def delete_set(self, name: str) -> None:
        await self.kube.delete(PINNED_IMAGE_SETS, name)

    async def make_pool(self, name: str, **spec: Any) -> None:
        await self.kube.create(
            MACHINE_CONFIG_POOLS,
            {
                "apiVersion": MACHINE_CONFIG_POOLS.api_version,
                "kind": MACHINE_CONFIG_POOLS.kind,
                "metadata": {"name": name},
                "spec": spec,
            },
        )

    async def label(self, node: str, **labels: str | None) -> None:
        await self.kube.patch(NODES, node, {"metadata": {"labels": labels}})

    async def machine_config_node(self, node: str) -> MachineConfigNode | None:
        try:
            return await self.kube.get(MACHINE_CONFIG_NODES, node)
        except kube.NotFound:
            return None

    async def entry(self, node: str, name: str) -> NodePinnedImageSet | None:
        report = await self.machine_config_node(node)
        entries = report.status.pinned_image_sets if report else ()
        return next((one for one in entries if one.name == name), None)

    async def condition(self, node: str, type_: str) -> Condition | None:
        report = await self.machine_config_node(node)
        return conditions.find(report.status.conditions, type_) if report else None

    def pinned(self, node: str) -> set[str]:
        return {pin.image for pin in self.runtimes[node].pins.values()}

    async def until_held(self, name: str, generation: int = 1) -> None:
        for node in self.runtimes:
            await self.until_node_holds(node, name, generation)

    async def until_node_holds(self, node: str, name: str, generation: int = 1) -> None:
        async def holds() -> bool:
            entry = await self.entry(node, name)
            return entry is not None and entry.current_generation == generation

        await self.until(holds, f"{node} holds generation {generation} of {name}")

    async def until_pinned(self, node: str, *images: str) -> None:
        async def exactly() -> bool:
            return self.pinned(node) == set(images)

        await self.until(exactly, f"{node} pins exactly {images}")

    async def until_condition(self, node: str, type_: str, reason: str, words: str) -> None:
        async def says_so() -> bool:
            found = await self.condition(node, type_)
            return found is not None and found.reason == reason and words in found.message

        await self.until(says_so, f"{node} says {reason}: {words}")

    async def until_set_says(self, name: str, words: str) -> None:
        async def says_so() -> bool:
            status = (await self.kube.get(PINNED_IMAGE_SETS, name)).status
            return any(words in one.message for one in status.conditions)

        await self.until(says_so, f"set {name} says: {words}")

    async def until_pulling(self, node: str) -> None:
        async def is_pulling() -> bool:
            return self.runtimes[node].pulling_count > 0

        await self.until(is_pulling, f"{node} is pulling")

    async def until_looked(self, node: str, *, times: int) -> None:
        """So often the agent asks its runtime again."""
        runtime = self.runtimes[node]
        end = runtime.looks + times

        async def has_looked() -> bool:
            return runtime.looks >= end

        await self.until(has_looked, f"{node} looked {times} times")

    async def until_event(self, node: str, reason: str) -> None:
        async def is_recorded() -> bool:
            found = (await self.kube.page(EVENTS, Selection(namespace="default"))).items
            return any((one.regarding.name, one.reason) == (node, reason) for one in found)

        await self.until(is_recorded, f"an event says that {node} is {reason}")

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                while not await is_so():
                    await CLOCK.sleep(POLL_SECONDS)
        except TimeoutError:
            reports = [await self.machine_config_node(node) for node in self.runtimes]
            shown = msgspec.json.format(msgspec.json.encode(reports)).decode()
            raise AssertionError(f"never came true: {what}\n{shown}") from None


@contextlib.asynccontextmanager
async def opened(
    folder: Path, runtimes: dict[str, Runtime], settings: tuple[object, ...] = QUICK
) -> AsyncIterator[WholeCluster]:
    """A cluster with a node of each name, everything of it running."""
    core = Core(MemoryStorage(), CLOCK, tokens={"token": ADMIN})
    direct = Authorized(core, "token")
    line = Line(direct)
    admin = KubeClient(direct)
    await installation.install(admin, CLOCK, DEFINITIONS)
    for name in runtimes:
        await nodes.register(admin, NodeDescription(name=name), CLOCK)
    async with contextlib.AsyncExitStack() as stack:
        for name, own in runtimes.items():
            await stack.enter_async_context(agent_running(folder / name, name, own, line))
        await stack.enter_async_context(_running(_controllers(admin, settings)))
        yield WholeCluster(kube=admin, line=line, runtimes=runtimes)
    await core.close()


def _controllers(kube: KubeClient, settings: tuple[object, ...]) -> Runnable:
    return controller.controllers(
        kube=kube,
        clock=CLOCK,
        metrics=Metrics(CollectorRegistry()),
        rng=CHANCE,
        gates=parse_gates(""),
        settings=settings,
    )


@contextlib.asynccontextmanager
async def _running(parts: Runnable) -> AsyncIterator[None]:
    work = asyncio.create_task(parts.run())
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


@contextlib.asynccontextmanager
async def agent_running(
    folder: Path, name: str, runtime: Runtime, line: Line
) -> AsyncIterator[None]:
    made = await agent.open_agent(
        whole_nodes.parts(folder, runtime, Registry()),
        node_name=name,
        kube=KubeClient(line),
        clock=CLOCK,
        metrics=Metrics(CollectorRegistry()),
        gates=parse_gates(""),
        settings=(PinSettings(resync_period=ROUND),),
        rng=CHANCE,
    )
    async with _running(made):
        yield
