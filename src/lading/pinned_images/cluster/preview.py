"""What the nodes of a cluster would do if sets were applied, from what the API tells. Pure.

A node's own agent knows more; here an image counts as present when the node lists it, or when the
node says that it holds a set that has it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    PinnedImageSetRef,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import references
from lading.kernel.conditions import Truth
from lading.kernel.images import ImageKey, Resolution
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import rules
from lading.pinned_images.cluster.rules import Member
from lading.pinned_images.cluster.types import World
from lading.pinned_images.node import desire, limits
from lading.pinned_images.node import preview as node_preview
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import Desired, Observed, PinSettings, Present
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What the API tells about a node beside the Node itself."""

    image_names: frozenset[str]
    space: Space | None
    limits: KubeletLimits


def world_after(world: World, sets: Iterable[PinnedImageSet]) -> World:
    """The cluster as it will be when the sets are applied and entered into their pools."""
    named = {one.metadata.name: one for one in (*world.sets, *sets)}
    return World(
        nodes=world.nodes,
        pools=tuple(_with_entries(pool, named.values()) for pool in world.pools),
        sets=tuple(named.values()),
        machine_config_nodes=world.machine_config_nodes,
    )


def _with_entries(pool: MachineConfigPool, sets: Iterable[PinnedImageSet]) -> MachineConfigPool:
    present = {reference.name for reference in pool.spec.pinned_image_sets}
    names = sorted(present.union(rules.sets_of_pool(pool, sets)))
    entries = tuple(PinnedImageSetRef(name=name) for name in names)
    spec = msgspec.structs.replace(pool.spec, pinned_image_sets=entries)
    return msgspec.structs.replace(pool, spec=spec)


def desired_of(
    node: Node,
    world: World,
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
    now: datetime,
) -> Desired:
    return desire.desired(
        node,
        world.pools,
        world.sets,
        handlers=handlers,
        first_seen={},
        settings=settings,
        generation=0,
        now=now,
    )


def preview(
    desired: Desired,
    member: Member,
    sets: Iterable[PinnedImageSet],
    facts: NodeFacts,
    resolutions: Mapping[ImageKey, Resolution],
) -> Preview:
    """`member` and `sets` are those of before: what the node holds it need not pull."""
    held = _held_images(member, sets)
    keys = {key for image_set in desired.sets for key in image_set.images}
    images = {
        key: Present(image_id=key.image, reference=key.image)
        for key in keys
        if not key.runtime_handler and (key.image in facts.image_names or key.image in held)
    }
    observed = Observed(
        ready=member.is_ready,
        disk_pressure=_has_disk_pressure(member.node),
        images=images,
        resolutions=resolutions,
        budget=limits.budget(facts.space, facts.limits) if facts.space else None,
    )
    return node_preview.preview(desired, observed)


def _held_images(member: Member, sets: Iterable[PinnedImageSet]) -> frozenset[str]:
    return frozenset(
        references.name_in_runtimes(image.name)
        for image_set in sets
        if member.holds(image_set)
        for image in image_set.spec.pinned_images
    )


def _has_disk_pressure(node: Node) -> bool:
    return any(
        one.type == "DiskPressure" and one.status is not Truth.FALSE
        for one in node.status.conditions
    )


def nodes_with_sets(world: World) -> tuple[Node, ...]:
    """The nodes that have anything to hold, by name."""
    return tuple(
        node
        for node in sorted(world.nodes, key=lambda node: node.metadata.name)
        if membership.sets_of_node(node, world.pools, world.sets)
    )
