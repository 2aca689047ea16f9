"""Opens what the agent of a node works with: the pull engine and the resolver, beside its ports."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from lading.kernel.images import ImageKey
from lading.loop.debounce import debounced
from lading.pinned_images.node import observe
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.resolutions import Resolver
from lading.ports.clock import Clock
from lading.ports.cri import ImageSpec
from lading.ports.node import NodeParts

# Many small pulls end close together; one reconcile serves them all. A free place for a pull
# waits no longer than that, which is about what starting a process would cost.
DEBOUNCE_SECONDS = 0.05


@asynccontextmanager
async def open_tools(
    node: NodeParts,
    clock: Clock,
    *,
    handlers_honoured: bool,
    left_by_gate: Callable[[], Awaitable[frozenset[str]]],
    pulled: Callable[[ImageKey, ImageSpec], Awaitable[None]],
    metrics: PinMetrics,
    changed: Callable[[], None],
) -> AsyncIterator[NodeTools]:
    async with debounced(clock, DEBOUNCE_SECONDS, changed) as soon:
        pulls = PullEngine(
            cri=node.runtime.cri,
            credentials=node.credentials,
            clock=clock,
            metrics=metrics,
            pulled=pulled,
            used_bytes=lambda: observe.used_bytes(node.runtime.cri, node.disk),
            changed=soon,
        )
        resolver = Resolver(
            registry=node.registry,
            journal=node.state.journal("resolutions.jsonl"),
            clock=clock,
            platform_of=node.platform_of,
            changed=soon,
        )
        try:
            yield NodeTools(
                cri=node.runtime.cri,
                pins=node.runtime.pins,
                pulls=pulls,
                resolver=resolver,
                disk=node.disk,
                kubelet=node.kubelet,
                handlers_honoured=handlers_honoured,
                left_by_gate=left_by_gate,
            )
        finally:
            await pulls.close()
            await resolver.close()
