"""The cluster under test on real components: real API server, real runtime, real registry."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from lading.adapters.clock import SystemClock
from lading.adapters.kube import connect
from lading.adapters.registry import client as registry_client
from lading.embedded import node as standalone_node
from lading.embedded.node import NodeDescription
from lading.wiring.host import open_runtime
from tests.deploy.manifests import NAMESPACE
from tests.e2e import door, private_registry, programs
from tests.e2e.cluster import ClusterUnderTest, NodeUnderTest
from tests.e2e.door import Door
from tests.e2e.private_registry import PrivateRegistry
from tests.e2e.programs import Program
from tests.real import installed
from tests.real.bed import api_server, cluster, runtime
from tests.real.installed import Installation

ROUND = "--resync-period=1s"
NO_KUBELET_PORT = 1
IN_NAMESPACE = f"--namespace={NAMESPACE}"
LONE_NODE = "lone-node"


@contextlib.asynccontextmanager
async def on_cluster(
    bed: cluster.Cluster, folder: Path, *arguments: str
) -> AsyncIterator[ClusterUnderTest]:
    """With a kubelet and everything else that makes a cluster."""
    installation = await installed.on_cluster(
        bed.api_server, folder, *arguments, registry_host=bed.registry.host
    )
    async with (
        door.before(bed.registry.host) as front,
        private_registry.opened(folder) as private,
        _opened(
            installation,
            bed.runtime,
            front,
            private,
            node_name=bed.node_name,
            kubelet_port=bed.kubelet_port,
        ) as opened,
    ):
        yield opened


@contextlib.asynccontextmanager
async def on_runtime(
    server: api_server.ApiServer,
    engine: runtime.Runtime,
    front: Door,
    private: PrivateRegistry,
    folder: Path,
) -> AsyncIterator[ClusterUnderTest]:
    """An API server and a runtime; the Node object is made by hand, as a kubelet would."""
    async with connect.connect(
        connect.find({}, file=server.kubeconfig_path), SystemClock()
    ) as kube:
        await standalone_node.register(kube, NodeDescription(name=LONE_NODE), SystemClock())
    installation = installed.on_api_server(
        server, folder, registry_host=front.host, node_name=LONE_NODE
    )
    async with _opened(
        installation,
        engine,
        front,
        private,
        node_name=LONE_NODE,
        kubelet_port=NO_KUBELET_PORT,
    ) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _opened(
    installation: Installation,
    engine: runtime.Runtime,
    front: Door,
    private: PrivateRegistry,
    *,
    node_name: str,
    kubelet_port: int,
) -> AsyncIterator[ClusterUnderTest]:
    clock, controller = SystemClock(), _controller(installation)
    connection = connect.find({}, file=installation.server.kubeconfig_path)
    async with (
        connect.connect(connection, clock) as kube,
        registry_client.connect(clock) as client,
        _node(
            installation,
            engine,
            node_name,
            f"--kubelet-port={kubelet_port}",
            f"--pull-secrets={private.pull_secrets}",
        ) as node,
        programs.running(controller, node.agent),
    ):
        yield ClusterUnderTest(
            kube=kube,
            nodes=(node,),
            registry=client,
            door=front,
            controller=controller,
            private=private,
        )


def _controller(installation: Installation) -> Program:
    return Program(
        name="controller",
        arguments=(
            "controller",
            f"--kubeconfig={installation.controller_kubeconfig}",
            IN_NAMESPACE,
        ),
        log=installation.folder / "controller.log",
    )


@contextlib.asynccontextmanager
async def _node(
    installation: Installation, engine: runtime.Runtime, name: str, *options: str
) -> AsyncIterator[NodeUnderTest]:
    """Its agent is not running yet."""
    folder = installation.folder
    state = folder / "state"
    place = (
        f"--node={name}",
        f"--runtime-endpoint={engine.endpoint}",
        f"--host-root={engine.host_root}",
        f"--state-dir={state}",
    )
    connection = f"--kubeconfig={installation.agent_kubeconfig}"
    async with open_runtime(engine.endpoint, SystemClock(), host_root=engine.host_root) as opened:
        yield NodeUnderTest(
            name=name,
            cri=opened.cri,
            pins=opened.pins,
            agent=Program(
                name=f"agent of {name}",
                arguments=("agent", *place, ROUND, connection, IN_NAMESPACE, *options),
                log=folder / "agent.log",
            ),
            cleanup=("agent", *place, "--cleanup"),
        )
