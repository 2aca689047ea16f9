"""The process `lading agent`: the parts of all features on one node."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from lading.api.core import NODES
from lading.kernel.feature_gates import Gates
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.loop.feature import AgentContext
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.pinned_images.node import tools as pinned_images
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.ports.node import NodeParts
from lading.runtime_images import handlers, images
from lading.runtime_images.state import ImageStateFile
from lading.wiring.digest_pulls import DigestPullRecorder
from lading.wiring.features import FEATURES
from lading.wiring.manager import Subject, manager_of

COMPONENT = "lading-agent"


async def open_agent(
    parts: NodeParts,
    *,
    node_name: str,
    kube: Kube,
    clock: Clock,
    metrics: Metrics,
    gates: Gates,
    rng: random.Random,
    namespace: str = "default",
    settings: tuple[object, ...] = (),
) -> Manager:
    node = gated(parts, gates)
    context = AgentContext(
        kube=kube,
        clock=clock,
        rng=rng,
        informers=Informers(kube=kube, clock=clock, rng=rng, metrics=metrics),
        recorder=EventRecorder(
            kube=kube,
            clock=clock,
            rng=rng,
            metrics=metrics,
            controller=COMPONENT,
            instance=node_name,
        ),
        metrics=metrics,
        gates=gates,
        namespace=namespace,
        settings=settings,
        node_name=node_name,
        node=node,
        handlers_honoured=await handlers_honoured(node, gates),
        record_pull=_pull_recorder(node).record,
        left_by_gate=_left_by_gate(parts, gates),
    )
    return manager_of(
        ((feature, part) for feature in FEATURES for part in feature.agent),
        context,
        subject=Subject(NODES, Key("", node_name)),
    )


def gated(parts: NodeParts, gates: Gates) -> NodeParts:
    """The node with its runtime as the feature gates let us see it."""
    runtime = replace(parts.runtime, cri=handlers.gated(parts.runtime.cri, gates))
    return replace(parts, runtime=runtime)


async def handlers_honoured(node: NodeParts, gates: Gates) -> bool:
    return handlers.gate_is_on(gates) and await handlers.are_honoured(node.runtime.cri)


def _left_by_gate(parts: NodeParts, gates: Gates) -> Callable[[], Awaitable[frozenset[str]]]:
    """Asks the runtime itself: with the gate off, the features do not see its handlers."""
    state = ImageStateFile(parts.image_state)

    async def found() -> frozenset[str]:
        if handlers.gate_is_on(gates):
            return frozenset()
        digest_pulls = (await state.load()).digest_pulls
        return images.ids_for_classes_only(await parts.runtime.cri.images(), digest_pulls)

    return found


def _pull_recorder(node: NodeParts) -> DigestPullRecorder:
    return DigestPullRecorder(ImageStateFile(node.image_state), node.platform_of)


@asynccontextmanager
async def open_tools(
    parts: NodeParts,
    clock: Clock,
    *,
    gates: Gates,
    metrics: PinMetrics,
    changed: Callable[[], None],
) -> AsyncIterator[NodeTools]:
    """What an agent works with, for a command that runs without one."""
    node = gated(parts, gates)
    async with pinned_images.open_tools(
        node,
        clock,
        handlers_honoured=await handlers_honoured(node, gates),
        left_by_gate=_left_by_gate(parts, gates),
        pulled=_pull_recorder(node).record,
        metrics=metrics,
        changed=changed,
    ) as tools:
        yield tools
