"""Reads the node as it is: the runtime's images and pins, the disk, the ledgers. Writes nothing.

The resolver forgets here what no set wants any more and recalls what it knew before a restart; the
pull engine forgets the past of pinned images.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel.conditions import Truth
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.values import replace
from lading.pinned_images.node import limits, rules, skew
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import Budget, Desired, ObservedNodeImages, Present, Written
from lading.ports.cri import Cri, Image, Pins, RecordedPin
from lading.ports.disk import Disk, Space
from lading.ports.kubelet import Kubelet


class NodeTools(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one node that are read and driven together."""

    cri: Cri
    pins: Pins
    pulls: PullEngine
    resolver: Resolver
    disk: Disk
    kubelet: Kubelet
    handlers_honoured: bool
    """Whether the runtime keeps images apart by runtime handler, or we do it by digest."""
    left_by_gate: Callable[[], Awaitable[frozenset[str]]]
    """The IDs of images for runtime classes only, while the gate of these is off."""


async def observe(
    tools: NodeTools,
    desired: Desired,
    *,
    node: Node | None,
    last_status: MachineConfigNodeStatus | None,
    written: Written,
) -> ObservedNodeImages:
    """Everything that the plan of a node needs.

    `node` is None on a host without a cluster, `last_status` where no status is reported.
    """
    keys = {key for image_set in desired.sets for key in image_set.images}
    images = await tools.cri.images()
    tools.resolver.forget_all_but(keys)
    tools.resolver.recall(keys)
    resolutions = tools.resolver.resolutions()
    found = present(keys, images, resolutions, handlers_honoured=tools.handlers_honoured)
    cannot_pin = await tools.pins.cannot_pin()
    recorded = await tools.pins.recorded() if cannot_pin is None else ()
    pins = tuple(one for one in recorded if not one.released)
    unpinned = keys - _pinned(found, pins)
    tools.pulls.forget_past_of_all_but(unpinned, kept=desired.settings.past_pulls_kept)
    await tools.pulls.see_credentials()
    mountpoints = [usage.mountpoint for usage in (await tools.cri.filesystems()).images]
    space_of = {path: await tools.disk.space(path) for path in mountpoints}
    spaces = tuple(space for space in space_of.values() if space is not None)
    tools.pulls.see_used(_used_bytes(spaces))
    return ObservedNodeImages(
        ready=node is None or _condition_is(node, "Ready", Truth.TRUE, absent=True),
        disk_pressure=node is not None
        and not _condition_is(node, "DiskPressure", Truth.FALSE, absent=True),
        images=found,
        image_ids=frozenset(image.id for image in images),
        pins=pins,
        released_pins=tuple(one for one in recorded if one.released),
        pins_outdated=cannot_pin is None and await tools.pins.outdated(),
        cannot_pin="" if cannot_pin is None else cannot_pin.message,
        pins_ignored=skew.pins_ignored(node.status.node_info.kubelet_version) if node else "",
        resolutions=resolutions,
        unresolved=tools.resolver.failed(),
        handlers_honoured=tools.handlers_honoured,
        left_by_gate=await _left_by_gate(tools, desired),
        budget=await _budget(tools, spaces),
        disk_unchecked=_disk_unchecked(space_of),
        pulls=tools.pulls.snapshot(),
        transfer=tools.pulls.transfer,
        past_pulls=tools.pulls.past(),
        last_status=last_status or MachineConfigNodeStatus(),
        status_is_wanted=last_status is not None,
        status_writes=written.statuses_at,
        pins_written_at=written.pins_at,
        pins_error=written.pins_error,
        pins_delay=written.pins_delay,
        reported_problems=written.problems,
    )


def timed(
    desired: Desired, observed: ObservedNodeImages, written: Written, now: datetime
) -> tuple[ObservedNodeImages, Written]:
    """With how long complete sets have waited for their pins, and what to remember for that."""
    names = [one.name for one in desired.sets if rules.set_waits_for_pins(one, observed)]
    remembered = written.with_unpinned(names, now)
    unpinned_for = {name: now - since for name, since in remembered.unpinned_since.items()}
    return replace(observed, unpinned_for=unpinned_for), remembered


def present(
    keys: Iterable[ImageKey],
    images: Iterable[Image],
    resolutions: Mapping[ImageKey, Resolution],
    *,
    handlers_honoured: bool,
) -> dict[ImageKey, Present]:
    """The wanted images that the runtime lists, found by the names it gives them."""
    listed = {
        (name, image.runtime_handler if handlers_honoured else ""): image
        for image in images
        for name in (*image.repo_digests, *image.repo_tags)
    }
    found: dict[ImageKey, Present] = {}
    for key in keys:
        name, handler = key.image, key.runtime_handler
        if handler and not handlers_honoured:
            if key not in resolutions:
                continue
            name, handler = resolutions[key].manifest, ""
        if (name, handler) in listed:
            found[key] = Present(image_id=listed[name, handler].id, reference=name)
    return found


def _pinned(images: Mapping[ImageKey, Present], pins: Iterable[RecordedPin]) -> frozenset[ImageKey]:
    in_force = {recorded.pin.image_id for recorded in pins if recorded.effective}
    return frozenset(key for key, image in images.items() if image.image_id in in_force)


def _condition_is(node: Node, type_: str, wanted: Truth, *, absent: bool) -> bool:
    statuses = [one.status for one in node.status.conditions if one.type == type_]
    return statuses[0] is wanted if statuses else absent


def _disk_unchecked(space_of: Mapping[str, Space | None]) -> str:
    unseen = sorted(path for path, space in space_of.items() if space is None)
    if unseen:
        return f"the agent cannot see {', '.join(unseen)}; mount it below --host-root"
    return "" if space_of else "the container runtime reports no image file system"


async def used_bytes(runtime: Cri, disk: Disk) -> int | None:
    """What the image file systems hold; None when none of them can be seen."""
    usages = (await runtime.filesystems()).images
    spaces = [await disk.space(usage.mountpoint) for usage in usages]
    return _used_bytes(tuple(space for space in spaces if space is not None))


def _used_bytes(spaces: tuple[Space, ...]) -> int | None:
    if not spaces:
        return None
    return sum(space.capacity_bytes - space.available_bytes for space in spaces)


async def _left_by_gate(tools: NodeTools, desired: Desired) -> frozenset[str]:
    """Sets without runtime classes are asked for nothing."""
    if not any(image_set.unresolvable for image_set in desired.sets):
        return frozenset()
    return await tools.left_by_gate()


async def _budget(tools: NodeTools, spaces: tuple[Space, ...]) -> Budget | None:
    """The tightest of the image file systems; None when the runtime names none that we can see."""
    kubelet_limits = await tools.kubelet.limits()
    budgets = [limits.budget(space, kubelet_limits) for space in spaces]
    return min(budgets, key=lambda budget: budget.usable_bytes, default=None)
