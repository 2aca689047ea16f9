"""One node without a cluster: its sets come from files, its status goes to the caller.

The same plan as in a cluster; only who asks and who is told differs.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from prometheus_client import CollectorRegistry

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.feature_gates import DEFAULTS
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline, tasks
from lading.pinned_images.node import apply, desire, observe, plan
from lading.pinned_images.node import preview as previews
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import (
    Desired,
    Observed,
    PinSettings,
    RecordEvent,
    WritePins,
    WriteStatus,
    Written,
)
from lading.ports.clock import Clock
from lading.wiring.agent import NodeParts, open_tools
from lading.wiring.pins_of_sets import PinsOfSets

RESOLVE_POLL_SECONDS = 0.05


def desired_of(node_name: str, sets: Sequence[PinnedImageSet], now: datetime) -> Desired:
    """A set from a file was never stored, so it has no generation; it counts as the first."""
    wanted = (desire.desired_set(one, handlers=None, first_seen={}, now=now) for one in sets)
    return Desired(
        node_name=node_name,
        sets=tuple(replace(one, generation=max(1, one.generation)) for one in wanted),
        settings=PinSettings(),
    )


async def preview(parts: NodeParts, desired: Desired, clock: Clock) -> Preview:
    """What the node would do; resolves sizes, and pulls and pins nothing."""
    async with open_tools(
        parts, clock, gates=DEFAULTS, metrics=_unread_metrics(), changed=lambda: None
    ) as tools:
        while True:
            observed = await observe.observe(
                tools, desired, node=None, last_status=None, written=Written()
            )
            unknown = plan.images_to_resolve(desired, observed, clock.now())
            if not unknown:
                return previews.preview(desired, observed)
            for action in unknown:
                tools.resolver.resolve(action.keys)
            await clock.sleep(RESOLVE_POLL_SECONDS)


async def synchronize(
    parts: NodeParts,
    desired: Desired,
    clock: Clock,
    *,
    told: Callable[[MachineConfigNodeStatus], bool],
) -> None:
    """Pulls and pins until `told` has heard enough and returns True.

    Sets that this node holds beside the desired ones keep their pins.
    """
    changed = asyncio.Event()
    names = frozenset(one.name for one in desired.sets)
    runtime = replace(parts.runtime, pins=PinsOfSets(parts.runtime.pins, names))
    async with open_tools(
        replace(parts, runtime=runtime),
        clock,
        gates=DEFAULTS,
        metrics=_unread_metrics(),
        changed=changed.set,
    ) as tools:
        host = _Host(tools, desired, clock)
        while True:
            changed.clear()
            recheck_at = await pipeline.reconcile(host, Key("", desired.node_name), clock)
            if told(host.status):
                return
            assert recheck_at is not None, "the plan of a node always looks again"
            seconds = max(0.0, (recheck_at - clock.now()).total_seconds())
            with contextlib.suppress(TimeoutError):
                await tasks.within(clock, seconds, changed.wait())


class _Host:
    """The reconcile pipeline of a host: the status stays in memory."""

    def __init__(self, tools: NodeTools, desired: Desired, clock: Clock) -> None:
        self._tools = tools
        self._desired = desired
        self._clock = clock
        self._written = Written()
        self.status = MachineConfigNodeStatus()

    async def observe(self, key: Key) -> Observed:
        return await observe.observe(
            self._tools,
            self._desired,
            node=None,
            last_status=self.status,
            written=self._written,
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        return plan.plan(self._desired, observed, now)

    async def apply(self, action: apply.NodeAction) -> None:
        if isinstance(action, WriteStatus):
            self.status = action.status
            return
        await apply.apply(action, self._tools, write_status=_unused, record=_quiet)
        if isinstance(action, WritePins):
            self._written = Written(pins_at=self._clock.now())


def _unread_metrics() -> PinMetrics:
    """A command that ends by itself serves no metrics."""
    return PinMetrics(CollectorRegistry())


async def _unused(status: MachineConfigNodeStatus) -> None:
    raise AssertionError("the status of a host stays in memory")


def _quiet(event: RecordEvent) -> None:
    """Whoever watches the status sees what the event would say."""
