"""The cluster under test on embedded servers; the agents and the controller are processes."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.adapters.registry import client as registry_client
from lading.embedded import api_server, node
from lading.embedded.api_server import ApiServer
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.node import LINUX_AMD64, NodeDescription
from lading.embedded.registry import server as registry_server
from lading.installation import apply as installation
from lading.ports.cri import RuntimeVersion
from lading.ports.registry import Registry
from lading.wiring.features import DEFINITIONS
from lading.wiring.host import open_runtime
from tests.e2e import door, private_registry, programs
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest
from tests.e2e.private_registry import PrivateRegistry
from tests.e2e.programs import Program

NODE_NAMES = ("node-1", "node-2")
ROUND = "--resync-period=1s"
NO_KUBELET_PORT = 1
NAMESPACE = "default"


class CannotPin(EmbeddedRuntime):
    """Reports that it is the containerd of Debian 12, a release that ignores pins."""

    async def version(self) -> RuntimeVersion:
        return RuntimeVersion(name="containerd", version="1.6.20~ds1", api_version="v1")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """What every node has around it."""

    folder: Path
    api: ApiServer
    kube: KubeClient
    registry: Registry
    private: PrivateRegistry
    engine: type[EmbeddedRuntime]


@contextlib.asynccontextmanager
async def opened(
    folder: Path, *, engine: type[EmbeddedRuntime] = EmbeddedRuntime
) -> AsyncIterator[ClusterUnderTest]:
    clock = SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        api = await enter(api_server.serve(folder / "api", clock))
        kube = KubeClient(api.exchange)
        await installation.install(kube, clock, DEFINITIONS)
        registry_url = await enter(registry_server.serve(folder / "registry"))
        front = await enter(door.before(registry_url.removeprefix("http://")))
        registry = await enter(registry_client.connect(clock))
        private = await enter(private_registry.opened(folder))
        around = _Surroundings(
            folder=folder, api=api, kube=kube, registry=registry, private=private, engine=engine
        )
        nodes = tuple([await enter(_node(name, around)) for name in NODE_NAMES])
        controller = Program(
            name="controller",
            arguments=(
                "controller",
                f"--kubeconfig={api.kubeconfig}",
                f"--namespace={NAMESPACE}",
            ),
            log=folder / "controller.log",
        )
        await enter(programs.running(controller, *(one.agent for one in nodes)))
        yield ClusterUnderTest(
            kube=kube,
            nodes=nodes,
            registry=registry,
            door=front,
            controller=controller,
            private=private,
        )


@contextlib.asynccontextmanager
async def _node(name: str, around: _Surroundings) -> AsyncIterator[NodeUnderTest]:
    clock, own = SystemClock(), around.folder / name
    own.mkdir()
    embedded = around.engine(
        root=own / "images", registry=around.registry, clock=clock, platform=LINUX_AMD64
    )
    async with (
        cri_server.serve(embedded, own / "runtime.sock") as endpoint,
        open_runtime(endpoint, clock) as runtime,
    ):
        await node.register(around.kube, NodeDescription(name=name), clock)
        place = (
            f"--node={name}",
            f"--runtime-endpoint={endpoint}",
            f"--state-dir={own / 'state'}",
        )
        yield NodeUnderTest(
            name=name,
            cri=runtime.cri,
            pins=runtime.pins,
            agent=Program(
                name=f"agent of {name}",
                arguments=(
                    "agent",
                    *place,
                    ROUND,
                    f"--kubelet-port={NO_KUBELET_PORT}",
                    f"--kubeconfig={around.api.kubeconfig}",
                    f"--pull-secrets={around.private.pull_secrets}",
                ),
                log=own / "agent.log",
            ),
            cleanup=("agent", *place, "--cleanup"),
        )
