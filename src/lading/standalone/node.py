"""An embedded node: a container runtime of its own on a socket, a Node object, and an agent."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lading
from lading.adapters.disk import LimitedDisk
from lading.adapters.kubelet import FixedLimits
from lading.api.core import NODES
from lading.kernel import conditions
from lading.kernel.feature_gates import Gate
from lading.kernel.platforms import Platform
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.ports.kubelet import KubeletLimits
from lading.runtime_images import controller as image_controller
from lading.runtime_images import handlers
from lading.runtime_images.controller import GarbageCollection
from lading.runtime_images.metrics import ImageMetrics
from lading.runtime_images.types import GcPolicy
from lading.servers.cri import server
from lading.servers.cri.core import EmbeddedRuntime
from lading.wiring import agent
from lading.wiring.agent import NodeParts
from lading.wiring.registries import Registries
from lading.wiring.runtimes import NodeRuntime, open_runtime

FIELD_MANAGER = "lading-standalone"
LINUX_AMD64 = Platform(os="linux", architecture="amd64")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescription:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    platform: Platform = LINUX_AMD64
    guests: Mapping[str, Platform | None] = field(default_factory=dict)
    """Manager handlers and the platforms of their guests."""
    capacity_bytes: int = 10 * 1024**3
    """How much its runtime may store, so that no node depends on how full this machine is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedNode:
    description: NodeDescription
    endpoint: str
    runtime: NodeRuntime
    parts: NodeParts
    agent: Manager


@asynccontextmanager
async def open_node(
    description: NodeDescription,
    *,
    folder: Path,
    kube: Kube,
    clock: Clock,
    registries: Registries,
    metrics: Metrics,
    gates: Mapping[Gate, bool],
    settings: PinSettings,
) -> AsyncIterator[EmbeddedNode]:
    """Agent and garbage collection are constructed but not running; the caller runs them."""
    embedded = EmbeddedRuntime(
        root=folder / "images",
        registry=registries.client,
        clock=clock,
        platform=description.platform,
        guests=description.guests,
        capacity_bytes=description.capacity_bytes,
    )
    async with (
        server.serve(embedded, folder / "runtime.sock") as endpoint,
        open_runtime(endpoint, clock, state_dir=folder) as runtime,
    ):
        parts = _parts(description, runtime, registries, folder)
        rng = random.Random(description.name)  # noqa: S311 - jitter, not a secret
        async with agent.open_agent(
            parts,
            node_name=description.name,
            kube=kube,
            clock=clock,
            metrics=metrics,
            gates=gates,
            settings=settings,
            rng=rng,
        ) as made:
            await register(kube, description, clock)
            collection = _garbage_collection(parts, clock, gates, metrics)
            controller = image_controller.controller(collection, clock, rng, metrics)
            yield EmbeddedNode(
                description=description,
                endpoint=endpoint,
                runtime=runtime,
                parts=parts,
                agent=replace(made, support=(*made.support, controller)),
            )


def _parts(
    description: NodeDescription, runtime: NodeRuntime, registries: Registries, folder: Path
) -> NodeParts:
    return NodeParts(
        runtime=runtime,
        registry=registries.client,
        credentials=registries.credentials,
        disk=LimitedDisk(runtime.cri, capacity_bytes=description.capacity_bytes),
        kubelet=FixedLimits(KubeletLimits()),
        platform_of=_platform_of(description),
        state_dir=folder,
    )


def _garbage_collection(
    parts: NodeParts, clock: Clock, gates: Mapping[Gate, bool], metrics: Metrics
) -> GarbageCollection:
    """What the kubelet does on a real node."""
    return GarbageCollection(
        runtime=handlers.gated(parts.runtime.cri, gates),
        disk=parts.disk,
        state=parts.image_state,
        clock=clock,
        policy=GcPolicy(),
        metrics=ImageMetrics(metrics.registry),
    )


def _platform_of(description: NodeDescription) -> Callable[[str], Platform]:
    return lambda handler: description.guests.get(handler) or description.platform


async def register(kube: Kube, description: NodeDescription, clock: Clock) -> None:
    """Writes the Node object as a kubelet would when it starts."""
    body = {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": description.name, "labels": _labels(description)},
    }
    await kube.apply(NODES, body, field_manager=FIELD_MANAGER, force=True)
    status = {
        "conditions": [
            _condition("Ready", "True", "KubeletReady", clock),
            _condition("DiskPressure", "False", "KubeletHasNoDiskPressure", clock),
        ],
        "nodeInfo": _node_info(description),
    }
    await kube.patch(NODES, description.name, {"status": status}, subresource="status")


def _labels(description: NodeDescription) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": description.name,
        "kubernetes.io/os": description.platform.os,
        "kubernetes.io/arch": description.platform.architecture,
        **description.labels,
    }


def _condition(type_: str, status: str, reason: str, clock: Clock) -> dict[str, Any]:
    now = conditions.timestamp(clock.now())
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": "",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _node_info(description: NodeDescription) -> dict[str, str]:
    unknown = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "kubeProxyVersion")
    return {
        **dict.fromkeys(unknown, ""),
        "architecture": description.platform.architecture,
        "operatingSystem": description.platform.os,
        "containerRuntimeVersion": f"lading://{lading.__version__}",
        "kubeletVersion": "",
    }
