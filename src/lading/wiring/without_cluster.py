"""One node without a cluster: opens what it needs, and hands it to the feature."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry

from lading.kernel.feature_gates import Gates
from lading.kernel.values import replace
from lading.pinned_images.node import host
from lading.pinned_images.node import preview as previews
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.pins_of_sets import PinsOfSets
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import Desired
from lading.pinned_images.progress import Progress
from lading.ports.clock import Clock
from lading.ports.node import NodeParts
from lading.runtime_images import handlers
from lading.wiring import planned_images, runtime_handlers
from lading.wiring.agent import open_tools


def declared_handlers(host_root: Path, gates: Gates) -> dict[str, str] | None:
    """Runtime class -> handler, as files of the host declare it; None with the gate off."""
    if not handlers.gate_is_on(gates):
        return None
    names = runtime_handlers.class_names(runtime_handlers.files_of(host_root))
    return {name: handler for handler, classes in names.items() for name in classes}


async def preview(parts: NodeParts, desired: Desired, clock: Clock, *, gates: Gates) -> Preview:
    metrics = _unread_metrics()
    async with open_tools(
        parts, clock, gates=gates, metrics=metrics, changed=lambda: None
    ) as tools:
        found = await host.preview(tools, desired, clock)
    failures = await planned_images.failures_now(
        parts.registry, clock, found.missing, platform_of=parts.platform_of
    )
    return previews.with_failures(found, failures)


async def synchronize(
    parts: NodeParts,
    desired: Desired,
    clock: Clock,
    *,
    gates: Gates,
    show: Callable[[Progress], None],
) -> Progress:
    """Sets that this node has beside the desired ones keep their pins."""
    changed = asyncio.Event()
    names = frozenset(one.name for one in desired.sets)
    runtime = replace(parts.runtime, pins=PinsOfSets(parts.runtime.pins, names))
    parts = replace(parts, runtime=runtime)
    metrics = _unread_metrics()
    async with open_tools(parts, clock, gates=gates, metrics=metrics, changed=changed.set) as tools:
        return await host.synchronize(tools, desired, clock, changed=changed, show=show)


def _unread_metrics() -> PinMetrics:
    """A command that ends by itself serves no metrics."""
    return PinMetrics(CollectorRegistry())
