"""One node without a cluster: pulls and pins the sets of files until there is nothing left to do.

The same plan as in a cluster. There is no status to write and no event to record: the caller sees
the progress.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import pipeline, tasks
from lading.pinned_images.node import apply, desire, observe, plan, progress, rules
from lading.pinned_images.node import preview as previews
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import (
    Desired,
    ObservedNodeImages,
    PinSettings,
    RecordNodeEvent,
    WritePins,
    Written,
)
from lading.pinned_images.progress import Progress, SetState
from lading.ports.clock import Clock

_ENDED = (SetState.PINNED, SetState.FAILED)


def desired_of(
    node_name: str,
    sets: Iterable[PinnedImageSet],
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
    now: datetime,
) -> Desired:
    """A set from a file was never stored, so it has no generation; it counts as the first."""
    wanted = (desire.desired_set(one, handlers=handlers, first_seen={}, now=now) for one in sets)
    return Desired(
        node_name=node_name,
        sets=tuple(replace(one, generation=max(1, one.generation)) for one in wanted),
        settings=settings,
    )


async def preview(tools: NodeTools, desired: Desired, clock: Clock) -> Preview:
    """What the node would do; resolves sizes, and pulls and pins nothing."""
    for action in plan.images_to_resolve(desired, await _observe(tools, desired), clock.now()):
        tools.resolver.resolve(action.keys)
    await tools.resolver.wait()
    return previews.preview(desired, await _observe(tools, desired))


async def synchronize(
    tools: NodeTools,
    desired: Desired,
    clock: Clock,
    *,
    changed: asyncio.Event,
    show: Callable[[Progress], None],
) -> Progress:
    """Until every set is pinned, or failed and nothing is under way; returns how it ended."""
    host = _HostReconciler(tools, desired, clock)
    while True:
        changed.clear()
        recheck_at = await pipeline.reconcile(host, Key("", desired.node_name), clock)
        found = host.progress()
        show(found)
        if host.is_idle and all(one.state in _ENDED for one in found.sets):
            return found
        assert recheck_at is not None, "the plan of a node always has a next reconcile"
        seconds = max(0.0, (recheck_at - clock.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            await tasks.within(clock, seconds, changed.wait())


class _HostReconciler:
    def __init__(self, tools: NodeTools, desired: Desired, clock: Clock) -> None:
        self._tools = tools
        self._desired = desired
        self._clock = clock
        self._written = Written()
        self._observed = ObservedNodeImages()
        self._plan = Plan()

    @property
    def is_idle(self) -> bool:
        """Nothing was planned but pins that the runtime does not keep, and no pull runs."""
        desired, observed = self._desired, self._observed
        gives_up = any(rules.pins_are_late(one, desired, observed) for one in desired.sets)
        planned = [
            action
            for action in self._plan.actions
            if not (gives_up and isinstance(action, WritePins))
        ]
        return not planned and not any(pull.running for pull in self._observed.pulls.values())

    def progress(self) -> Progress:
        return progress.progress(self._desired, self._observed, self._clock.now())

    async def observe(self, key: Key) -> ObservedNodeImages:
        observed = await _observe(self._tools, self._desired, self._written)
        self._observed, self._written = observe.timed(
            self._desired, observed, self._written, self._clock.now()
        )
        return self._observed

    def plan(self, observed: ObservedNodeImages, now: datetime) -> Plan:
        self._plan = plan.plan(self._desired, observed, now)
        return self._plan

    async def apply(self, action: apply.NodeAction) -> None:
        await apply.apply(action, self._tools, write_status=_no_status, record=_no_event)
        if isinstance(action, WritePins):
            self._written = replace(self._written, pins_at=self._clock.now())


async def _observe(
    tools: NodeTools, desired: Desired, written: Written | None = None
) -> ObservedNodeImages:
    return await observe.observe(
        tools, desired, node=None, last_status=None, written=written or Written()
    )


async def _no_status(status: MachineConfigNodeStatus) -> None:
    raise AssertionError("a host without a cluster has no status to write")


def _no_event(event: RecordNodeEvent) -> None:
    raise AssertionError("a host without a cluster has no event to record")
