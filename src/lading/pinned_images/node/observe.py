"""Reads the state of the node: images, pins, disk, kubelet limits, ledgers. Changes nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel.conditions import Truth
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.values import replace
from lading.pinned_images.node import admission, rules
from lading.pinned_images.node.metrics import PinMetrics
from lading.pinned_images.node.pulls import PullEngine
from lading.pinned_images.node.resolutions import Resolver
from lading.pinned_images.node.types import (
    Budget,
    Desired,
    ObservedNodeImages,
    Present,
    WriteHistory,
)
from lading.ports.clock import Clock
from lading.ports.cri import Cri, Image, ImageSpec, Pins
from lading.ports.node import Disk, Kubelet, NodeParts, Space


class NodeTools(msgspec.Struct, frozen=True, kw_only=True):
    """The ports and engines of one node."""

    cri: Cri
    pins: Pins
    pulls: PullEngine
    resolver: Resolver
    disk: Disk
    kubelet: Kubelet
    handlers_honoured: bool
    """Whether the runtime keeps images apart by runtime handler. If not, the agent does it by
    digest."""
    images_kept_while_gate_is_off: Callable[[], Awaitable[frozenset[str]]]
    """The IDs of images for runtime classes only, while the gate of these is off."""


@asynccontextmanager
async def open_tools(
    node: NodeParts,
    clock: Clock,
    *,
    handlers_honoured: bool,
    images_kept_while_gate_is_off: Callable[[], Awaitable[frozenset[str]]],
    pulled: Callable[[ImageKey, ImageSpec], Awaitable[None]],
    metrics: PinMetrics,
    changed: Callable[[], None],
) -> AsyncIterator[NodeTools]:
    pulls = PullEngine(
        cri=node.runtime.cri,
        registry=node.registry,
        credentials=node.credentials,
        clock=clock,
        metrics=metrics,
        pulled=pulled,
        used_bytes=lambda: used_bytes(node.runtime.cri, node.disk),
        changed=changed,
    )
    resolver = Resolver(
        registry=node.registry,
        journal=node.state.journal("resolutions.jsonl"),
        clock=clock,
        platform_of=node.platform_of,
        changed=changed,
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
            images_kept_while_gate_is_off=images_kept_while_gate_is_off,
        )
    finally:
        await pulls.close()
        await resolver.close()


async def observe(
    tools: NodeTools,
    desired: Desired,
    *,
    node: Node | None,
    last_status: MachineConfigNodeStatus | None,
    history: WriteHistory,
    now: datetime,
) -> ObservedNodeImages:
    """`node` is None on a host without a cluster; `last_status` if there is no status."""
    wanted = rules.wanted_images(desired)
    handlers = await _handlers(tools, wanted)
    keys = frozenset(key for key in wanted if not rules.handler_is_unknown(key, handlers))
    images = await tools.cri.images()
    resolutions = tools.resolver.resolutions(keys)
    cannot_pin = await tools.pins.cannot_pin()
    recorded = await tools.pins.recorded() if cannot_pin is None else ()
    mountpoints = [usage.mountpoint for usage in (await tools.cri.filesystems()).images]
    space_of = {path: await tools.disk.space(path) for path in mountpoints}
    observed = ObservedNodeImages(
        ready=node is None or _condition_is(node, "Ready", Truth.TRUE, absent=True),
        disk_pressure=node is not None
        and not _condition_is(node, "DiskPressure", Truth.FALSE, absent=True),
        images=present(keys, images, resolutions, handlers_honoured=tools.handlers_honoured),
        tags={tag: image.id for image in images for tag in image.repo_tags},
        makes_tags=tools.pins.makes_tags,
        image_ids=frozenset(image.id for image in images),
        pins=tuple(one for one in recorded if not one.released),
        released_pins=tuple(one for one in recorded if one.released),
        pins_outdated=cannot_pin is None and await tools.pins.outdated(),
        cannot_pin="" if cannot_pin is None else cannot_pin.message,
        pins_ignored=rules.pins_ignored(node.status.node_info.kubelet_version) if node else "",
        resolutions=resolutions,
        unresolved=tools.resolver.failed(),
        resolving=tools.resolver.resolving(),
        runtime_handlers=handlers,
        handlers_honoured=tools.handlers_honoured,
        images_kept_while_gate_is_off=await _images_kept_while_gate_is_off(tools, desired),
        budget=await _budget(tools, space_of.values()),
        disk_unchecked=_disk_unchecked(space_of),
        pulls=tools.pulls.snapshot(),
        transfer=tools.pulls.transfer,
        past_pulls=tools.pulls.past(),
        last_status=last_status or MachineConfigNodeStatus(),
        status_is_wanted=last_status is not None,
    )
    return replace(observed, history=_updated(history, desired, observed, now))


def _updated(
    history: WriteHistory, desired: Desired, observed: ObservedNodeImages, now: datetime
) -> WriteHistory:
    """The clock may have been set back, so no time is later than `now`."""
    unpinned, first_seen = history.unpinned_since, history.first_seen_at
    waiting = (one.name for one in desired.sets if rules.set_waits_for_pins(one, observed))
    generations = ((one.uid, one.generation) for one in desired.sets)
    return replace(
        history,
        unpinned_since={name: min(unpinned.get(name, now), now) for name in waiting},
        first_seen_at={one: first_seen.get(one, now) for one in generations},
    )


def present(
    keys: Iterable[ImageKey],
    images: Iterable[Image],
    resolutions: Mapping[ImageKey, Resolution],
    *,
    handlers_honoured: bool,
) -> dict[ImageKey, Present]:
    """The wanted images that the runtime lists under their names."""
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


def _condition_is(node: Node, type_: str, wanted: Truth, *, absent: bool) -> bool:
    statuses = [one.status for one in node.status.conditions if one.type == type_]
    return statuses[0] is wanted if statuses else absent


def _disk_unchecked(space_of: Mapping[str, Space | None]) -> str:
    unseen = sorted(path for path, space in space_of.items() if space is None)
    if unseen:
        return f"the agent cannot see {', '.join(unseen)}; mount it below --host-root"
    return "" if space_of else "the container runtime reports no image file system"


async def used_bytes(runtime: Cri, disk: Disk) -> int | None:
    """Of all image file systems; None if none of them can be read."""
    usages = (await runtime.filesystems()).images
    spaces = [await disk.space(usage.mountpoint) for usage in usages]
    used = [one.capacity_bytes - one.available_bytes for one in spaces if one is not None]
    return sum(used) if used else None


async def _images_kept_while_gate_is_off(tools: NodeTools, desired: Desired) -> frozenset[str]:
    """Read only for sets with runtime classes."""
    if not any(image_set.unresolvable for image_set in desired.sets):
        return frozenset()
    return await tools.images_kept_while_gate_is_off()


async def _handlers(tools: NodeTools, wanted: Iterable[ImageKey]) -> frozenset[str]:
    """Read only for images with a runtime handler."""
    if not any(key.runtime_handler for key in wanted):
        return frozenset()
    return frozenset(one.name for one in (await tools.cri.status()).handlers)


async def _budget(tools: NodeTools, spaces: Iterable[Space | None]) -> Budget | None:
    """Of the image file system with the least usable space; None if none can be read."""
    limits = await tools.kubelet.limits()
    budgets = [admission.budget(space, limits) for space in spaces if space is not None]
    return min(budgets, key=lambda budget: budget.usable_bytes, default=None)
