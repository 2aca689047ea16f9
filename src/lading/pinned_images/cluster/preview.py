"""What the nodes of a cluster would do if sets were applied, from what the API shows. Pure.

A node's own agent knows more; here an image counts as present when the node lists it, or when the
node reports that it holds a set that has it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    PinnedImageSetRef,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import references
from lading.kernel.conditions import Truth
from lading.kernel.images import ImageKey, Resolution
from lading.kernel.values import replace
from lading.pinned_images import claims
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster import rules
from lading.pinned_images.node import desire, limits
from lading.pinned_images.node import preview as node_preview
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import (
    Desired,
    FailedResolution,
    ObservedNodeImages,
    PinSettings,
    Present,
)
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits


class ClusterObjects(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of a cluster at one moment."""

    nodes: tuple[Node, ...] = ()
    pools: tuple[MachineConfigPool, ...] = ()
    sets: tuple[PinnedImageSet, ...] = ()
    machine_config_nodes: tuple[MachineConfigNode, ...] = ()


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a node beside the Node itself."""

    report: MachineConfigNode | None
    """None while the node has none."""
    image_names: frozenset[str]
    space: Space | None
    space_problem: str = ""
    """Why the space is not known."""
    limits: KubeletLimits


def after_applying(
    before: ClusterObjects,
    sets: Iterable[PinnedImageSet],
    pools: Iterable[MachineConfigPool] = (),
) -> ClusterObjects:
    """The cluster as it will be when all is applied and the sets are entered into their pools."""
    named = {one.metadata.name: one for one in (*before.sets, *sets)}
    named_pools = {one.metadata.name: one for one in before.pools}
    for pool in pools:
        named_pools[pool.metadata.name] = _applied(pool, named_pools.get(pool.metadata.name))
    return replace(
        before,
        pools=tuple(_with_entries(pool, named.values()) for pool in named_pools.values()),
        sets=tuple(named.values()),
    )


def _applied(pool: MachineConfigPool, before: MachineConfigPool | None) -> MachineConfigPool:
    """The entries that a pool has stay, because the controller applies them."""
    if before is None:
        return pool
    names = {one.name for one in (*before.spec.pinned_image_sets, *pool.spec.pinned_image_sets)}
    entries = tuple(PinnedImageSetRef(name=name) for name in sorted(names))
    spec = replace(pool.spec, pinned_image_sets=entries)
    return replace(before, spec=spec)


def _with_entries(pool: MachineConfigPool, sets: Iterable[PinnedImageSet]) -> MachineConfigPool:
    present = {reference.name for reference in pool.spec.pinned_image_sets}
    selected = frozenset(
        one.metadata.name for one in sets if membership.set_belongs_to_pool(one, pool)
    )
    names = sorted(present.union(rules.sets_to_enter(pool, selected)))
    entries = tuple(PinnedImageSetRef(name=name) for name in names)
    spec = replace(pool.spec, pinned_image_sets=entries)
    return replace(pool, spec=spec)


def desired_of(
    node: Node,
    objects: ClusterObjects,
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
    now: datetime,
) -> Desired:
    return desire.desired(
        node,
        objects.pools,
        objects.sets,
        handlers=handlers,
        first_seen={},
        settings=settings,
        generation=0,
        now=now,
    )


def images_of(desired: Desired) -> frozenset[ImageKey]:
    return frozenset(key for image_set in desired.sets for key in image_set.images)


def preview(
    desired: Desired,
    node: Node,
    sets: Iterable[PinnedImageSet],
    facts: NodeFacts,
    resolutions: Mapping[ImageKey, Resolution],
    unresolved: Mapping[ImageKey, FailedResolution] = MappingProxyType({}),
) -> Preview:
    """`sets` are those of before: what the node holds it need not pull."""
    held = _held_images(facts.report, sets)
    images = {
        key: Present(image_id=key.image, reference=key.image)
        for key in images_of(desired)
        if not key.runtime_handler and (key.image in facts.image_names or key.image in held)
    }
    observed = ObservedNodeImages(
        ready=rules.node_is_ready(node),
        disk_pressure=_has_disk_pressure(node),
        images=images,
        resolutions=resolutions,
        unresolved=unresolved,
        budget=limits.budget(facts.space, facts.limits) if facts.space else None,
    )
    found = node_preview.preview(desired, observed)
    return replace(found, space_problem=facts.space_problem)


def _held_images(
    report: MachineConfigNode | None, sets: Iterable[PinnedImageSet]
) -> frozenset[str]:
    held = claims.held(report) if report is not None else {}
    return frozenset(
        references.name_in_runtimes(image.name)
        for image_set in sets
        if held.get(image_set.metadata.name) == membership.claim_of(image_set)
        for image in image_set.spec.pinned_images
    )


def _has_disk_pressure(node: Node) -> bool:
    return any(
        one.type == "DiskPressure" and one.status is not Truth.FALSE
        for one in node.status.conditions
    )


def nodes_with_sets(objects: ClusterObjects) -> tuple[Node, ...]:
    """The nodes that have anything to hold, by name."""
    return tuple(
        node
        for node in sorted(objects.nodes, key=lambda node: node.metadata.name)
        if membership.sets_of_node(node, objects.pools, objects.sets)
    )
