"""One process that is a whole cluster: it starts in order, and stops in the reverse order.

All its state is in its data folder: started again there, it continues.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.kube.client import KubeClient
from lading.api import loose
from lading.api.apiextensions import CUSTOM_RESOURCE_DEFINITIONS
from lading.api.core import NODES
from lading.boot_images.gate import MANAGED_BOOT_IMAGES
from lading.installation import apply as installation
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports.clock import Clock
from lading.ports.http import Exchange
from lading.ports.kube import AlreadyExists, Kube, NotFound
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import PrunerSettings
from lading.standalone import api_server, node, node_leases, registry
from lading.standalone.api_server import ApiServer
from lading.standalone.kubelet import EmbeddedKubelet
from lading.standalone.node import EmbeddedNode, NodeDescription
from lading.standalone.registry import EmbeddedRegistry, RegistrySettings
from lading.standalone.workloads import manager as workloads
from lading.standalone.workloads import own_image
from lading.standalone.workloads.pods.controller import PodNode
from lading.standalone.workloads.pods.credentials import PullSecrets
from lading.wiring import clusters, controller
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import GATES
from lading.wiring.registries import Registries, credentials_of, open_registries


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    data: Path
    nodes: tuple[NodeDescription, ...]
    api_port: int = 0
    registry: RegistrySettings = msgspec.field(default_factory=RegistrySettings)
    gates: Gates = msgspec.field(default_factory=lambda: feature_gates.defaults(GATES))
    settings: PinSettings = msgspec.field(default_factory=PinSettings)
    prepull: PrePullSettings = msgspec.field(default_factory=PrePullSettings)


class StandaloneCluster(msgspec.Struct, frozen=True, kw_only=True):
    api: ApiServer
    kube: KubeClient
    clock: Clock
    registry: EmbeddedRegistry
    registries: Registries
    nodes: tuple[EmbeddedNode, ...]
    controllers: Manager
    workloads: Manager
    metrics: Metrics
    own_image: str
    """The stand-in for Lading's own image, as pods name it."""

    @property
    def registry_url(self) -> str:
        return self.registry.url

    @property
    def registry_host(self) -> str:
        return self.registry.host

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.controllers.run())
            group.create_task(self.workloads.run())
            names = [one.description.name for one in self.nodes]
            group.create_task(node_leases.renew(self.kube, names, self.clock))
            for one in self.nodes:
                group.create_task(one.agent.run())

    def unsynced(self) -> tuple[str, ...]:
        """What is not ready yet, by name; empty means that the cluster works."""
        parts = {"controllers": self.controllers, "workloads": self.workloads}
        parts.update({one.description.name: one.agent for one in self.nodes})
        return tuple(
            f"{name}: {resource}" for name, part in parts.items() for resource in part.unsynced()
        )


@asynccontextmanager
async def open_cluster(options: ClusterOptions, clock: Clock) -> AsyncIterator[StandaloneCluster]:
    """Everything started except the loops, which `run` runs."""
    metrics = Metrics(CollectorRegistry())
    kubelets: dict[str, Exchange] = {}
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(
            api_server.serve(options.data, clock, port=options.api_port, kubelets=kubelets)
        )
        kube = clusters.client_of(api.exchange)
        await installation.install(kube, clock, DEFINITIONS)
        if options.gates[MANAGED_BOOT_IMAGES]:
            await _install_kinds_of_others(kube)
        await _forget_other_nodes(options, kube)
        served = await stack.enter_async_context(registry.serve(options.data, options.registry))
        registries = await stack.enter_async_context(
            open_registries(clock, settings=credentials_of(served.auth_file))
        )
        nodes = [
            await stack.enter_async_context(
                node.open_node(
                    description,
                    folder=_node_folder(options.data, description.name),
                    kube=kube,
                    clock=clock,
                    registries=registries,
                    metrics=Metrics(CollectorRegistry()),
                    gates=options.gates,
                    settings=options.settings,
                )
            )
            for description in options.nodes
        ]
        own_images = await _push_own_image(nodes, registries, served)
        environment = _process_environment(api, served, options.data)
        kubelets.update(
            {one.description.name: EmbeddedKubelet(one.parts, one.agent.pages) for one in nodes}
        )
        yield StandaloneCluster(
            api=api,
            kube=kube,
            clock=clock,
            registry=served,
            registries=registries,
            nodes=tuple(nodes),
            controllers=controller.controllers(
                kube=kube,
                clock=clock,
                metrics=metrics,
                rng=random.Random(),  # noqa: S311 - jitter, not a secret
                gates=options.gates,
                settings=_settings(options, served),
            ),
            workloads=await workloads.open_workloads(
                (_pod_node(one, kube, registries, own_images, environment) for one in nodes),
                kube=kube,
                clock=clock,
            ),
            metrics=metrics,
            own_image=str(own_image.reference(served.host)),
        )


def _settings(
    options: ClusterOptions, served: EmbeddedRegistry
) -> tuple[PrePullSettings, PrunerSettings]:
    """The controllers run in no pod that could tell Lading's own image and its node."""
    image = str(own_image.reference(served.host))
    node_name = next((one.name for one in options.nodes), "")
    return (
        replace(options.prepull, hold_image=image, node_name=node_name),
        PrunerSettings(image=image),
    )


async def _push_own_image(
    nodes: Iterable[EmbeddedNode], registries: Registries, served: EmbeddedRegistry
) -> frozenset[str]:
    """The stand-in for Lading's own image; returns the IDs by which runtimes list it."""
    platforms = frozenset(one.description.platform for one in nodes)
    await own_image.push(registries.client, served.host, platforms)
    return own_image.ids(platforms)


def _pod_node(
    one: EmbeddedNode,
    kube: Kube,
    registries: Registries,
    own_images: frozenset[str],
    environment: dict[str, str],
) -> PodNode:
    return PodNode(
        name=one.description.name,
        runtime=one.runtime.cri,
        credentials=PullSecrets(kube=kube, registries=registries),
        declare=one.declare_containers,
        own_images=own_images,
        environment=environment,
        folder=one.folder / "pods",
    )


def _process_environment(api: ApiServer, served: EmbeddedRegistry, data: Path) -> dict[str, str]:
    """What a `lading` command in a pod needs to find the cluster and its registry.

    A pruning Job leaves its plan, for the dashboard.
    """
    files = {
        "KUBECONFIG": api.kubeconfig,
        "REGISTRY_AUTH_FILE": served.auth_file,
        "LADING_PRUNE_SAVE_PLAN": prune_plan_file(data),
    }
    return {name: str(file) for name, file in files.items() if file}


def prune_plan_file(data: Path) -> Path:
    """Where the plan of the last pruning Job is."""
    return data / "prune-plan.jsonl"


async def _install_kinds_of_others(kube: Kube) -> None:
    """Machine sets and what surrounds them, which no operator brings along here."""
    for manifest in loose.manifests():
        with suppress(AlreadyExists):
            await kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


def _node_folder(data: Path, name: str) -> Path:
    folder = data / "nodes" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def _forget_other_nodes(options: ClusterOptions, kube: Kube) -> None:
    """A start with fewer nodes than before leaves Nodes without an agent, which never report."""
    wanted = {description.name for description in options.nodes}
    for name in _known_nodes(options.data) - wanted:
        with suppress(NotFound):
            await kube.delete(NODES, name)
        await node_leases.forget(kube, name)


def _known_nodes(data: Path) -> set[str]:
    return {folder.name for folder in (data / "nodes").glob("*")}
