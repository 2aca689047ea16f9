"""A real control plane with several nodes of `lading up`, and the controller as a process.

API server, scheduler and controller manager are real. A node is an embedded runtime with the pod
loop and the agent. The controller has the rights of `deploy/` and no others.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from lading.adapters.clock import SystemClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import LEASES, NODES, PODS, DaemonSet, Pod
from lading.embedded import cluster_registry, node, sample_images
from lading.embedded.cluster_registry import RegistrySettings
from lading.embedded.node import LINUX_AMD64, EmbeddedNode, NodeDescription
from lading.embedded.workloads import manager, own_image
from lading.embedded.workloads.pods.controller import PodNode
from lading.embedded.workloads.pods.pulls import pull_secrets
from lading.kernel import feature_gates, references
from lading.loop.informer import Informer, Informers
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports import kube
from lading.ports.kube import Selection
from lading.prepull import holder, nodes
from lading.wiring import clusters
from lading.wiring.controller import LEASE_NAME
from lading.wiring.gates import GATES
from lading.wiring.registries import Registries, open_registries
from tests.deploy.manifests import DEPLOY, NAMESPACE, NAMESPACES, SETTING, SHARED
from tests.e2e.prepull import PrePullUnderTest, ready_images
from tests.e2e.programs import Program
from tests.real import installed
from tests.real.bed import api_server, control_plane, sandbox
from tests.real.bed.api_server import ApiServer

CONTROLLERS = "daemonset-controller,garbage-collector-controller,serviceaccount-controller"
"""Nobody sends heartbeats for the nodes, and nobody may miss them."""
NAMES = tuple(f"node-{number}" for number in range(5))
RESOURCES = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi"}
CLOCK = SystemClock()


@dataclass
class RollOutRecord:
    """What every change of a holder pod shows, one after the other, as the API server has them."""

    pods: Informer[Pod]
    watched: tuple[frozenset[str], ...] = ()
    """Of each of these sets of images every node must hold one, all the time."""
    pulling_max: int = 0
    gaps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pods.add_handler(lambda old, new: self._look())

    def _look(self) -> None:
        alive = [one for one in self.pods if not one.metadata.deletion_timestamp]
        pulling = {one.metadata.uid for one in alive if _is_released(one) and not _is_held(one)}
        self.pulling_max = max(self.pulling_max, len(pulling))
        for name in NAMES:
            held = {
                image for one in alive if one.spec.node_name == name for image in ready_images(one)
            }
            self.gaps += [f"{name}: {sorted(held)}" for one in self.watched if not one & held]


def _is_released(pod: Pod) -> bool:
    return not pod.spec.scheduling_gates


def _is_held(pod: Pod) -> bool:
    return set(holder.held(pod).values()) == ready_images(pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneWithNodes(PrePullUnderTest):
    server: ApiServer
    client: KubeClient
    host: str
    registries: Registries
    nodes: tuple[EmbeddedNode, ...]
    controller: Program
    record: RollOutRecord
    namespace: str = NAMESPACE

    @property
    def node_names(self) -> tuple[str, ...]:
        return NAMES

    @property
    def kube(self) -> KubeClient:
        return self.client

    @property
    def registry_host(self) -> str:
        return self.host

    async def start(self, listed: object, *options: str) -> None:
        """The controller; one that was killed left its Lease, which no test waits for."""
        if self.controller.is_running:
            await self.controller.stop()
        with contextlib.suppress(kube.NotFound):
            await self.client.delete(LEASES, LEASE_NAME, namespace=NAMESPACE)
        assert isinstance(listed, dict)
        await self.controller.start(
            f"--prepull-hold-image={own_image.reference(self.host)}",
            *(f"--prepull-image={name}={url}" for name, url in listed.items()),
            *options,
        )

    async def push(self, name: str, tag: str) -> str:
        url = references.parse(f"{self.host}/{name}:{tag}")
        made = sample_images.image([{"cargo.txt": os.urandom(64)}])
        await sample_images.push(self.registries.client, url, made)
        return str(url)

    async def present(self, name: str) -> set[str]:
        (found,) = (one for one in self.nodes if one.description.name == name)
        return {tag for one in await found.runtime.cri.images() for tag in one.repo_tags}

    async def released(self, template: str) -> set[str]:
        """The nodes with a pod of this template without its gate."""
        return {
            nodes.node_of(one)
            for one in await self.pods()
            if _is_released(one) and template_of(one) == template
        }

    async def why_not(self) -> str:
        found = await super(ControlPlaneWithNodes, self).why_not()
        return found + self.controller.log_tail()


def template_of(one: Pod | DaemonSet) -> str:
    return one.metadata.annotations.get(holder.TEMPLATE_ANNOTATION, "")


@contextlib.contextmanager
def control_plane_server() -> Iterator[ApiServer]:
    with sandbox.sandbox() as place:
        running = api_server.start(place)
        control_plane.start_scheduler(place, running)
        control_plane.start_controllers(place, running, only=CONTROLLERS)
        for file in (DEPLOY / "crds", SETTING):
            running.kubectl("apply", "--server-side", "-f", str(file))
        for file in (NAMESPACES, DEPLOY / "base" / "controller.yaml"):
            running.kubectl("apply", "--server-side", "-f", str(file))
        running.kubectl("apply", "--server-side", "-k", str(SHARED / "base"))
        yield running


@contextlib.asynccontextmanager
async def opened(server: ApiServer, folder: Path) -> AsyncIterator[ControlPlaneWithNodes]:
    connection = clusters.find({}, file=server.kubeconfig_path)
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        client = await enter(clusters.open_client(connection, CLOCK))
        served = await enter(cluster_registry.serve(folder, RegistrySettings()))
        registries = await enter(open_registries(CLOCK))
        await own_image.push(registries.client, served.host, frozenset({LINUX_AMD64}))
        installed.decide(server, f"--prepull-hold-image={own_image.reference(served.host)}")
        made = [await enter(_node(name, folder / name, client, registries)) for name in NAMES]
        await enter(_running_nodes(made, client, registries))
        record = RollOutRecord(await enter(_holder_pods(client)))
        controller = Program(
            name="controller",
            arguments=(
                "controller",
                f"--kubeconfig={installed.identity(server, folder, 'controller')}",
                f"--namespace={NAMESPACE}",
            ),
            log=folder / "controller.log",
            environment={"NODE_NAME": NAMES[0]},
        )
        yield ControlPlaneWithNodes(
            server=server,
            client=client,
            host=served.host,
            registries=registries,
            nodes=tuple(made),
            controller=controller,
            record=record,
        )
        await controller.kill()


@contextlib.asynccontextmanager
async def _node(
    name: str, folder: Path, client: KubeClient, registries: Registries
) -> AsyncIterator[EmbeddedNode]:
    async with node.open_node(
        NodeDescription(name=name),
        folder=folder,
        kube=client,
        clock=CLOCK,
        registries=registries,
        metrics=Metrics(CollectorRegistry()),
        gates=feature_gates.defaults(GATES),
        settings=PinSettings(),
        namespace=NAMESPACE,
    ) as made:
        room = {"allocatable": RESOURCES, "capacity": RESOURCES}
        await client.patch(NODES, name, {"status": room}, subresource="status")
        # The API server taints a new node, and no controller here removes the taint.
        await client.patch(NODES, name, {"spec": {"taints": None}})
        yield made


@contextlib.asynccontextmanager
async def _running_nodes(
    made: list[EmbeddedNode], client: KubeClient, registries: Registries
) -> AsyncIterator[None]:
    pod_nodes = [
        PodNode(
            name=one.description.name,
            runtime=one.runtime.cri,
            credentials=pull_secrets(client, registries),
            declare=one.declare_containers,
            own_images=own_image.ids(frozenset({LINUX_AMD64})),
            environment={},
            folder=one.folder / "pods",
        )
        for one in made
    ]
    loops = await manager.open_workloads(
        pod_nodes, kube=client, clock=CLOCK, cluster_controllers=()
    )
    tasks = [asyncio.create_task(one.run()) for one in (loops, *(one.agent for one in made))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended


@contextlib.asynccontextmanager
async def _holder_pods(client: KubeClient) -> AsyncIterator[Informer[Pod]]:
    informers = Informers(
        kube=client, clock=CLOCK, rng=random.Random(1), metrics=Metrics(CollectorRegistry())
    )
    selection = Selection(namespace=NAMESPACE, label_selector=holder.HOLDER_SELECTOR)
    found = informers.of(PODS, selection)
    task = asyncio.create_task(informers.run())
    await informers.wait_synced()
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
