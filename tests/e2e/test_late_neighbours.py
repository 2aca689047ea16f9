"""Agent and controller that are started before those they need: they wait, say so, and go on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.embedded import api_server, node
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.node import LINUX_AMD64, NodeDescription
from lading.installation import apply as installation
from lading.wiring.features import DEFINITIONS
from tests.e2e import door, programs, waiting
from tests.e2e.door import Door
from tests.e2e.programs import Program

NODE = "node-1"
API_SERVER, RUNTIME = "the API server", "the container runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An API server behind a door that is shut, and a socket where no runtime listens yet."""

    folder: Path
    door: Door
    kubeconfig: Path

    def program(self, name: str) -> Program:
        place = {"controller": (), "agent": self._node()}[name]
        arguments = (name, f"--kubeconfig={self.kubeconfig}", *place)
        return Program(name=name, arguments=arguments, log=self.folder / f"{name}.log")

    def _node(self) -> tuple[str, ...]:
        return (
            f"--node={NODE}",
            f"--runtime-endpoint=unix://{self._socket}",
            f"--state-dir={self.folder / 'state'}",
            "--kubelet-port=1",
        )

    @property
    def _socket(self) -> Path:
        return self.folder / "runtime.sock"

    @contextlib.asynccontextmanager
    async def runtime(self) -> AsyncIterator[None]:
        clock = SystemClock()
        async with registry_client.connect(clock) as registry:
            embedded = EmbeddedRuntime(
                root=self.folder / "images", registry=registry, clock=clock, platform=LINUX_AMD64
            )
            async with cri_server.serve(embedded, self._socket):
                yield


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    clock = SystemClock()
    async with api_server.serve(tmp_path / "api", clock) as api:
        kube = KubeClient(api.exchange)
        await installation.install(kube, clock, DEFINITIONS)
        await node.register(kube, NodeDescription(name=NODE), clock)
        async with door.before(api.url.removeprefix("https://")) as front:
            await front.shut()
            kubeconfig = tmp_path / "kubeconfig"
            own = api.kubeconfig.read_text(encoding="utf-8")
            kubeconfig.write_text(own.replace(api.url, f"https://{front.host}"), encoding="utf-8")
            yield Place(folder=tmp_path, door=front, kubeconfig=kubeconfig)


async def test_an_agent_waits_for_the_api_server_then_for_the_runtime_and_goes_on(
    place: Place,
) -> None:
    agent = place.program("agent")
    async with started(agent):
        await until_waiting(agent, API_SERVER)
        assert await agent.get("/healthz") == b"ok\n"
        await place.door.open()
        await until_waiting(agent, RUNTIME)
        async with place.runtime():
            await agent.ready()
            msgspec.json.decode(await agent.get("/pinned-images"))
        assert "waiting" in agent.events_since(0)


async def test_a_controller_waits_for_the_api_server_and_goes_on(place: Place) -> None:
    controller = place.program("controller")
    async with started(controller):
        await until_waiting(controller, API_SERVER)
        await place.door.open()
        await controller.ready()


@pytest.mark.parametrize("name", ["agent", "controller"])
async def test_a_process_that_waits_ends_at_once_on_a_signal(place: Place, name: str) -> None:
    program = place.program(name)
    async with started(program):
        await until_waiting(program, API_SERVER)
        assert await program.stop() == 0


@pytest.mark.parametrize("name", ["agent", "controller"])
async def test_a_token_that_the_api_server_refuses_is_not_waited_for(
    place: Place, name: str
) -> None:
    own = place.kubeconfig.read_text(encoding="utf-8")
    place.kubeconfig.write_text(own.replace("token: ", "token: not-"), encoding="utf-8")
    await place.door.open()
    async with asyncio.timeout(waiting.SECONDS_MAX):
        await programs.run(*place.program(name).arguments, exit_code=1)


@contextlib.asynccontextmanager
async def started(program: Program) -> AsyncIterator[None]:
    try:
        await program.start()
        yield
    finally:
        await program.kill()


async def until_waiting(program: Program, neighbour: str) -> None:
    async def says_so() -> bool:
        return await program.get("/readyz") == f"waiting for {neighbour}\n".encode()

    await waiting.until(says_so, f"{program.name} waited for {neighbour}")
