"""A whole cluster in one process. Its state is in its data folder; a later start continues it."""

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
from lading.boot_images.types import MANAGED_BOOT_IMAGES
from lading.embedded import api_server, cluster_registry, kubelet, node
from lading.embedded.api_server import ApiServer
from lading.embedded.cluster_registry import EmbeddedRegistry, RegistrySettings
from lading.embedded.kubelet import EmbeddedKubelet
from lading.embedded.node import EmbeddedNode, NodeDescription
from lading.embedded.workloads import manager as workloads
from lading.embedded.workloads import own_image
from lading.embedded.workloads.pods.controller import PodNode
from lading.embedded.workloads.pods.pulls import pull_secrets
from lading.installation import apply as installation
from lading.kernel import feature_gates
from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.loop.manager import Manager
from lading.observability import endpoint
from lading.observability.endpoint import Answers
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports.clock import Clock
from lading.ports.http import HttpTransport
from lading.ports.kube import AlreadyExists, Kube
from lading.prepull.types import PrePullSettings
from lading.pruning.operator.types import PrunerSettings
from lading.wiring import clusters, controller
from lading.wiring.features import DEFINITIONS
from lading.wiring.gates import GATES
from lading.wiring.registries import Registries, credentials_of, open_registries


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    data: Path
    nodes: tuple[NodeDescription, ...]
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
    """The name of the placeholder for Lading's own image."""

    @property
    def registry_url(self) -> str:
        return self.registry.url

    @property
    def registry_host(self) -> str:
        return self.registry.host

    async def run(self) -> None:
        """Runs all loops until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.controllers.run())
            group.create_task(self.workloads.run())
            names = [one.description.name for one in self.nodes]
            group.create_task(kubelet.renew_leases(self.kube, names, self.clock))
            for one in self.nodes:
                group.create_task(one.agent.run())

    def unsynced(self) -> tuple[str, ...]:
        """The caches that are not filled yet; none if the cluster is ready."""
        parts = {"controllers": self.controllers, "workloads": self.workloads}
        parts.update({one.description.name: one.agent for one in self.nodes})
        return tuple(
            f"{name}: {resource}" for name, part in parts.items() for resource in part.unsynced()
        )


@asynccontextmanager
async def open_cluster(options: ClusterOptions, clock: Clock) -> AsyncIterator[StandaloneCluster]:
    """Starts everything in order, except the loops of `run`; stops it in reverse order."""
    metrics = Metrics(CollectorRegistry())
    kubelets: dict[str, HttpTransport] = {}
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        api = await enter(api_server.serve(options.data, clock, kubelets=kubelets))
        kube = clusters.client_of(api.exchange)
        await installation.install(kube, clock, DEFINITIONS)
        if options.gates[MANAGED_BOOT_IMAGES]:
            await _install_kinds_of_others(kube)
        await _forget_other_nodes(options, kube)
        served = await enter(cluster_registry.serve(options.data, options.registry))
        registries = await enter(open_registries(clock, settings=credentials_of(served.auth_file)))
        nodes = [
            await enter(
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
    """On a cluster the controllers learn their image and their node from their pod."""
    image = str(own_image.reference(served.host))
    node_name = next((one.name for one in options.nodes), "")
    return (
        replace(options.prepull, hold_image=image, node_name=node_name),
        PrunerSettings(image=image),
    )


async def _push_own_image(
    nodes: Iterable[EmbeddedNode], registries: Registries, served: EmbeddedRegistry
) -> frozenset[str]:
    """Pushes the placeholder for Lading's own image and returns its image IDs."""
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
        credentials=pull_secrets(kube, registries),
        declare=one.declare_containers,
        own_images=own_images,
        environment=environment,
        folder=one.folder / "pods",
    )


def _process_environment(api: ApiServer, served: EmbeddedRegistry, data: Path) -> dict[str, str]:
    """The variables by which a `lading` command finds the cluster and its registry.

    A pruning Job saves its plan, for the dashboard.
    """
    files = {
        "KUBECONFIG": api.kubeconfig,
        "REGISTRY_AUTH_FILE": served.auth_file,
        "LADING_PRUNE_SAVE_PLAN": prune_plan_file(data),
    }
    return {name: str(file) for name, file in files.items() if file}


def prune_plan_file(data: Path) -> Path:
    """The plan of the last pruning Job."""
    return data / "prune-plan.jsonl"


async def _install_kinds_of_others(kube: Kube) -> None:
    """The kinds of machine sets, which an operator installs on a real cluster."""
    for manifest in loose.manifests():
        with suppress(AlreadyExists):
            await kube.create(CUSTOM_RESOURCE_DEFINITIONS, manifest)


def _node_folder(data: Path, name: str) -> Path:
    folder = data / "nodes" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def _forget_other_nodes(options: ClusterOptions, kube: Kube) -> None:
    """Deletes the Nodes of earlier starts that have no agent now."""
    wanted = {description.name for description in options.nodes}
    for name in _known_nodes(options.data) - wanted:
        await kubelet.unregister(kube, name)


def _known_nodes(data: Path) -> set[str]:
    return {folder.name for folder in (data / "nodes").glob("*")}


@asynccontextmanager
async def serve_status_pages(cluster: StandaloneCluster, *, port: int) -> AsyncIterator[str]:
    """/metrics, /healthz and /readyz of the controllers; those of an agent are below /nodes/NAME.

    Yields the URL; port 0 takes a free one.
    """
    async with endpoint.serve_answers(
        host="127.0.0.1", port=port, find=lambda: status_pages(cluster)
    ) as url:
        yield url


def status_pages(cluster: StandaloneCluster) -> Answers:
    parts = cluster.controllers
    found = dict(
        endpoint.answers(
            cluster.metrics.registry, cluster.unsynced(), parts.waiting(), parts.pages()
        )
    )
    for one in cluster.nodes:
        agent = one.agent
        of_node = endpoint.answers(
            one.metrics.registry, agent.unsynced(), agent.waiting(), agent.pages()
        )
        prefix = f"/nodes/{one.description.name}"
        found.update({f"{prefix}{path}": answer for path, answer in of_node.items()})
    return found
