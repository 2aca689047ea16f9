"""An embedded node: a container runtime of its own on a socket, a Node object, and an agent."""

import os
import platform
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

import lading
from lading.adapters.disk import LimitedDisk
from lading.adapters.kubelet import FixedLimits
from lading.adapters.state_files import LocalStateDirectory
from lading.api.core import NODES
from lading.embedded.cri import server as cri_server
from lading.embedded.cri.core import EmbeddedRuntime
from lading.embedded.kube import builtins
from lading.embedded.kubelet import FIELD_MANAGER
from lading.kernel import conditions
from lading.kernel.feature_gates import Gates
from lading.kernel.platforms import Platform
from lading.loop.manager import Manager
from lading.observability.metrics import Metrics
from lading.pinned_images.node.types import PinSettings
from lading.ports.clock import Clock
from lading.ports.cri import Container
from lading.ports.kube import Kube
from lading.ports.node import KubeletLimits, NodeParts, NodeRuntime
from lading.runtime_images.gc_types import GcPolicy
from lading.wiring import agent, machine
from lading.wiring.host import open_runtime
from lading.wiring.registries import Registries

LINUX_AMD64 = Platform(os="linux", architecture="amd64")
NODE_CAPACITY_BYTES = 10 * 1024**3
ROLE_LABEL = "node-role.kubernetes.io/worker"
PODS_MAX = 110  # the kubelet's maxPods
_HEALTHY = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


NODE_CAPACITY_BYTES = 10 * 1024**3


class NodeDescription(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    labels: Mapping[str, str] = {}
    platform: Platform = LINUX_AMD64
    guests: Mapping[str, Platform | None] = {}
    """Runtime handlers and the platforms of their guests."""
    capacity_bytes: int = NODE_CAPACITY_BYTES
    """The size of its image disk, whatever space this machine has."""


class EmbeddedNode(msgspec.Struct, frozen=True, kw_only=True):
    description: NodeDescription
    folder: Path
    endpoint: str
    """The socket of its container runtime."""
    parts: NodeParts
    agent: Manager
    metrics: Metrics
    declare_containers: Callable[[Iterable[Container]], None]
    """Tells its runtime which containers exist; the runtime runs none itself."""

    @property
    def runtime(self) -> NodeRuntime:
        return self.parts.runtime


@asynccontextmanager
async def open_node(
    description: NodeDescription,
    *,
    folder: Path,
    kube: Kube,
    clock: Clock,
    registries: Registries,
    metrics: Metrics,
    gates: Gates,
    settings: PinSettings,
    namespace: str = "default",
) -> AsyncIterator[EmbeddedNode]:
    """Opens the node; the caller runs its agent. `namespace` is that of the controller."""
    async with AsyncExitStack() as stack:
        stack.enter_context(machine.owning(folder, f"the agent of node {description.name}"))
        runtime = EmbeddedRuntime(
            root=folder / "images",
            registry=registries.client,
            clock=clock,
            platform=description.platform,
            guests=description.guests,
            capacity_bytes=description.capacity_bytes,
        )
        enter = stack.enter_async_context
        endpoint = await enter(cri_server.serve(runtime, folder / "runtime.sock"))
        opened = await enter(open_runtime(endpoint, clock))
        parts = NodeParts(
            runtime=opened,
            registry=registries.client,
            credentials=registries.credentials,
            disk=LimitedDisk(opened.cri, capacity_bytes=description.capacity_bytes),
            kubelet=FixedLimits(KubeletLimits()),
            platform_of=lambda handler: description.guests.get(handler) or description.platform,
            state=LocalStateDirectory(folder),
        )
        await register(kube, description, clock)
        yield EmbeddedNode(
            description=description,
            folder=folder,
            endpoint=endpoint,
            parts=parts,
            metrics=metrics,
            declare_containers=runtime.declare_containers,
            agent=await agent.open_agent(
                parts,
                node_name=description.name,
                kube=kube,
                clock=clock,
                metrics=metrics,
                gates=gates,
                namespace=namespace,
                settings=(settings, GcPolicy()),  # no kubelet collects images here
                rng=random.Random(description.name),  # noqa: S311 - jitter, not a secret
            ),
        )


async def register(kube: Kube, description: NodeDescription, clock: Clock) -> None:
    """Writes the Node, as a kubelet does when it starts."""
    body = {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": description.name, "labels": _labels(description)},
    }
    await kube.apply(NODES, body, field_manager=FIELD_MANAGER, force=True)
    amounts = _amounts(description)
    status = {
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": description.name},
        ],
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": [
            *(_condition(type_, "False", reason, clock) for type_, reason in _HEALTHY.items()),
            _condition("Ready", "True", "KubeletReady", clock),
        ],
        "nodeInfo": _node_info(description),
    }
    await kube.patch(NODES, description.name, {"status": status}, subresource="status")


def _labels(description: NodeDescription) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": description.name,
        "kubernetes.io/os": description.platform.os,
        "kubernetes.io/arch": description.platform.architecture,
        ROLE_LABEL: "",
        **description.labels,
    }


def _amounts(description: NodeDescription) -> dict[str, str]:
    """Every node shows the whole memory and all processors of this machine."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": str(os.cpu_count() or 1),
        "ephemeral-storage": str(description.capacity_bytes),
        "memory": f"{memory_bytes // 1024}Ki",
        "pods": str(PODS_MAX),
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
    """The kubelet has the version of the API server."""
    unknown = ("machineID", "systemUUID", "bootID", "kubeProxyVersion")
    return {
        **dict.fromkeys(unknown, ""),
        "architecture": description.platform.architecture,
        "operatingSystem": description.platform.os,
        "containerRuntimeVersion": f"lading://{lading.__version__}",
        "kernelVersion": platform.release(),
        "kubeletVersion": builtins.kubernetes_version(),
        "osImage": f"Lading {lading.__version__} (embedded node)",
    }
