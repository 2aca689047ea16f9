"""One node without a cluster: pulls and pins the sets of files until all are done or failed.

The plan is that of a node in a cluster, without a status and without events.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec

from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import pipeline, tasks
from lading.pinned_images.node import desired_state, observe, plan, progress, rules
from lading.pinned_images.node import preview as previews
from lading.pinned_images.node.apply import NodeActions
from lading.pinned_images.node.observe import NodeTools
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import (
    Desired,
    ForgetImages,
    ObservedNodeImages,
    PinSettings,
    WriteHistory,
    WritePins,
)
from lading.pinned_images.types import Progress, SetState
from lading.ports.clock import Clock
from lading.ports.cri import CannotPin, Pin, Pins, RecordedPin

_ENDED = (SetState.PINNED, SetState.FAILED)


def desired_of(
    node_name: str,
    sets: Iterable[PinnedImageSet],
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
) -> Desired:
    """A set from a file has no generation. It counts as the first."""
    wanted = desired_state.desired_sets(sets, handlers=handlers)
    return Desired(
        node_name=node_name,
        sets=tuple(replace(one, generation=max(1, one.generation)) for one in wanted),
        settings=settings,
    )


async def preview(tools: NodeTools, desired: Desired, clock: Clock) -> Preview:
    """Resolves sizes. Pulls and pins nothing."""
    before = await _observe(tools, desired, WriteHistory(), clock)
    for action in plan.images_to_resolve(desired, before, clock.now()):
        tools.resolver.resolve(action.keys)
    await tools.resolver.wait()
    return previews.preview(desired, await _observe(tools, desired, WriteHistory(), clock))


async def synchronize(
    tools: NodeTools,
    desired: Desired,
    clock: Clock,
    *,
    changed: asyncio.Event,
    show: Callable[[Progress], None],
) -> Progress:
    """Until every set is pinned or failed, and nothing is left to do."""
    actions, key = NodeActions(tools, clock), Key("", desired.node_name)
    while True:
        changed.clear()
        observed = await _observe(tools, desired, actions.history, clock)
        actions.history = observed.history
        planned = plan.plan(desired, observed, clock.now())
        await pipeline.apply_lanes(planned, actions.apply, key)
        found = progress.progress(desired, observed, clock.now())
        show(found)
        is_idle = _is_idle(desired, observed, planned, clock)
        if is_idle and all(one.state in _ENDED for one in found.sets):
            return found
        assert planned.recheck_at is not None, "the plan of a node always has a next reconcile"
        seconds = max(0.0, (planned.recheck_at - clock.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            await tasks.within(clock, seconds, changed.wait())


def _is_idle(desired: Desired, observed: ObservedNodeImages, planned: Plan, clock: Clock) -> bool:
    """No pull runs, and only memory, or pins that the runtime does not keep, are left to do."""
    now = clock.now()
    gives_up = any(rules.pins_are_late(one, desired, observed, now) for one in desired.sets)
    ignored = (ForgetImages, WritePins) if gives_up else ForgetImages
    left = [one for one in planned.actions if not isinstance(one, ignored)]
    return not left and not any(pull.running for pull in observed.pulls.values())


async def _observe(
    tools: NodeTools, desired: Desired, history: WriteHistory, clock: Clock
) -> ObservedNodeImages:
    now = clock.now()
    return await observe.observe(
        tools, desired, node=None, last_status=None, history=history, now=now
    )


class PinsOfSets(msgspec.Struct, frozen=True):
    """A `Pins` that lists and writes the pins of some sets, and leaves other pins alone."""

    pins: Pins
    names: frozenset[str]

    @property
    def makes_tags(self) -> bool:
        return self.pins.makes_tags

    async def cannot_pin(self) -> CannotPin | None:
        return await self.pins.cannot_pin()

    async def recorded(self) -> tuple[RecordedPin, ...]:
        recorded = await self.pins.recorded()
        return tuple(_owned(recorded, lambda owner: owner in self.names))

    async def outdated(self) -> bool:
        return await self.pins.outdated()

    async def write(self, pins: Collection[Pin]) -> None:
        recorded = await self.pins.recorded()
        others = _owned(recorded, lambda owner: owner not in self.names)
        await self.pins.write((*pins, *(one.pin for one in others if not one.released)))


def _owned(pins: Iterable[RecordedPin], wanted: Callable[[str], bool]) -> Iterator[RecordedPin]:
    """Each pin with its wanted owners only; none without an owner."""
    for recorded in pins:
        owners = tuple(filter(wanted, recorded.pin.owners))
        if owners:
            yield replace(recorded, pin=replace(recorded.pin, owners=owners))
