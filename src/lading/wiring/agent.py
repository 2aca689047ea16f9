"""The agent of one node, put together: informers, pull engine, resolver, controller."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lading.adapters.journal import FileJournal
from lading.adapters.state_file import LocalStateFile
from lading.kernel.feature_gates import Gate
from lading.kernel.objects import Key
from lading.kernel.platforms import Platform
from lading.loop.controller import Controller
from lading.loop.debounce import debounced
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pinned_images.node import controller as node_controller
from lading.pinned_images.node.controller import Caches, NodeReconciler
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.pulls import PullCredentials, PullEngine
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import PinSettings
from lading.ports.clock import Clock
from lading.ports.disk import Disk
from lading.ports.kube import Kube
from lading.ports.kubelet import Kubelet
from lading.ports.registry import Registry
from lading.runtime_images import handlers
from lading.runtime_images.state import ImageStateFile
from lading.wiring.digest_pulls import DigestPullRecorder
from lading.wiring.runtimes import NodeRuntime

COMPONENT = "lading-agent"
# Many small pulls end close together; one look at the runtime serves them all. A free place for
# a pull waits no longer than that, which is about what starting a process would cost.
CHANGES_SETTLE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParts:
    """What one node consists of, whether it is this machine or an embedded one."""

    runtime: NodeRuntime
    registry: Registry
    credentials: PullCredentials
    disk: Disk
    kubelet: Kubelet
    platform_of: Callable[[str], Platform]
    """The platform of a runtime handler's guests; the empty handler is the node itself."""
    state_dir: Path
    image_state: ImageStateFile = field(init=False)
    """What is known about images; `lading image` reads it too."""

    def __post_init__(self) -> None:
        state = ImageStateFile(LocalStateFile(self.state_dir / "images.json"))
        object.__setattr__(self, "image_state", state)


@asynccontextmanager
async def open_tools(
    parts: NodeParts,
    clock: Clock,
    *,
    gates: Mapping[Gate, bool],
    metrics: PinMetrics,
    changed: Callable[[], None],
) -> AsyncIterator[NodeTools]:
    runtime = handlers.gated(parts.runtime.cri, gates)
    async with debounced(clock, CHANGES_SETTLE_SECONDS, changed) as soon:
        pulls = PullEngine(
            cri=runtime,
            credentials=parts.credentials,
            clock=clock,
            metrics=metrics,
            pulled=DigestPullRecorder(parts.image_state, parts.platform_of).record,
            changed=soon,
        )
        resolver = Resolver(
            registry=parts.registry,
            journal=FileJournal(parts.state_dir / "resolutions.jsonl"),
            clock=clock,
            platform_of=parts.platform_of,
            changed=soon,
        )
        try:
            yield NodeTools(
                cri=runtime,
                pins=parts.runtime.pins,
                pulls=pulls,
                resolver=resolver,
                disk=parts.disk,
                kubelet=parts.kubelet,
                handlers_honoured=handlers.gate_is_on(gates)
                and await handlers.are_honoured(runtime),
            )
        finally:
            await pulls.close()
            await resolver.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Manager):
    reconciler: NodeReconciler


@asynccontextmanager
async def open_agent(
    parts: NodeParts,
    *,
    node_name: str,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    gates: Mapping[Gate, bool],
    settings: PinSettings,
    rng: random.Random,
) -> AsyncIterator[Agent]:
    key = Key("", node_name)
    informers = Informers(kube=kube, clock=clock, rng=rng, metrics=metrics)
    caches = Caches.of(informers, node_name)
    recorder = EventRecorder(
        kube=kube,
        clock=clock,
        rng=rng,
        metrics=metrics,
        controller=COMPONENT,
        instance=node_name,
    )
    pin_metrics = PinMetrics(metrics.registry)
    async with open_tools(
        parts,
        clock,
        gates=gates,
        metrics=pin_metrics,
        changed=lambda: controller.wake(key),
    ) as tools:
        reconciler = NodeReconciler(
            node_name=node_name,
            kube=kube,
            clock=clock,
            caches=caches,
            tools=tools,
            recorder=recorder,
            metrics=pin_metrics,
            settings=settings,
            by_runtime_class=handlers.gate_is_on(gates),
            is_on=gates[Gate.PINNED_IMAGES],
        )
        controller = Controller(
            name="pinned-images-node",
            reconcile=reconciler.reconcile,
            clock=clock,
            rng=rng,
            metrics=metrics,
            workers=1,
        )
        node_controller.watch(controller, caches, node_name)
        yield Agent(
            informers=informers,
            controllers=(controller,),
            support=(recorder,),
            reconciler=reconciler,
        )
