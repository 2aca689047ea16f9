"""What the nodes of a cluster would pull if sets were applied, from objects of the API. Pure.

The agent of a node knows more. Here an image counts as present if the Node lists it, or if the
node has pinned a set with it.
"""

from collections.abc import Iterable, Mapping
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
from lading.pinned_images import claims, membership
from lading.pinned_images.cluster import rules
from lading.pinned_images.membership import Membership
from lading.pinned_images.node import admission, desired_state
from lading.pinned_images.node import preview as node_preview
from lading.pinned_images.node import rules as node_rules
from lading.pinned_images.node.preview import Preview
from lading.pinned_images.node.types import (
    Desired,
    FailedResolution,
    ObservedNodeImages,
    PinSettings,
    Present,
)
from lading.ports.node import KubeletLimits, Space


class ClusterObjects(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of a cluster at one moment."""

    nodes: tuple[Node, ...] = ()
    pools: tuple[MachineConfigPool, ...] = ()
    sets: tuple[PinnedImageSet, ...] = ()
    machine_config_nodes: tuple[MachineConfigNode, ...] = ()


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a node in addition to the Node."""

    report: MachineConfigNode | None
    """None if the node has none."""
    image_names: frozenset[str]
    space: Space | None
    space_problem: str = ""
    """Why the space is unknown."""
    limits: KubeletLimits


def after_applying(
    before: ClusterObjects,
    sets: Iterable[PinnedImageSet],
    pools: Iterable[MachineConfigPool] = (),
) -> ClusterObjects:
    """The cluster after sets and pools are applied and the sets are assigned to their pools."""
    named = {one.metadata.name: one for one in (*before.sets, *sets)}
    named_pools = {one.metadata.name: one for one in before.pools}
    for pool in pools:
        named_pools[pool.metadata.name] = _applied(pool, named_pools.get(pool.metadata.name))
    return replace(
        before,
        pools=tuple(_with_sets(pool, named.values()) for pool in named_pools.values()),
        sets=tuple(named.values()),
    )


def _applied(pool: MachineConfigPool, before: MachineConfigPool | None) -> MachineConfigPool:
    """The sets that a pool has stay, because the controller applies them."""
    if before is None:
        return pool
    names = {one.name for one in (*before.spec.pinned_image_sets, *pool.spec.pinned_image_sets)}
    entries = tuple(PinnedImageSetRef(name=name) for name in sorted(names))
    spec = replace(pool.spec, pinned_image_sets=entries)
    return replace(before, spec=spec)


def _with_sets(pool: MachineConfigPool, sets: Iterable[PinnedImageSet]) -> MachineConfigPool:
    present = {reference.name for reference in pool.spec.pinned_image_sets}
    selected = frozenset(
        one.metadata.name for one in sets if membership.set_belongs_to_pool(one, pool)
    )
    names = sorted(present.union(rules.sets_to_assign(pool, selected)))
    entries = tuple(PinnedImageSetRef(name=name) for name in names)
    spec = replace(pool.spec, pinned_image_sets=entries)
    return replace(pool, spec=spec)


def desired_of(
    node: Node,
    objects: ClusterObjects,
    *,
    handlers: Mapping[str, str] | None,
    settings: PinSettings,
) -> Desired:
    return desired_state.desired(
        node,
        objects.pools,
        objects.sets,
        handlers=handlers,
        settings=settings,
        generation=0,
    )


def preview(
    desired: Desired,
    node: Node,
    sets: Iterable[PinnedImageSet],
    facts: NodeFacts,
    resolutions: Mapping[ImageKey, Resolution],
    unresolved: Mapping[ImageKey, FailedResolution] = MappingProxyType({}),
) -> Preview:
    """`sets` are those before the change: the node has pulled them already."""
    held = _held_images(facts.report, sets)
    images = {
        key: Present(image_id=key.image, reference=key.image)
        for key in node_rules.wanted_images(desired)
        if not key.runtime_handler and (key.image in facts.image_names or key.image in held)
    }
    observed = ObservedNodeImages(
        ready=rules.node_is_ready(node),
        disk_pressure=_has_disk_pressure(node),
        images=images,
        resolutions=resolutions,
        unresolved=unresolved,
        budget=admission.budget(facts.space, facts.limits) if facts.space else None,
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
    """The nodes that must hold any set, by name."""
    found = Membership(objects.pools, objects.sets)
    return tuple(
        node
        for node in sorted(objects.nodes, key=lambda node: node.metadata.name)
        if found.sets_of(found.pools_of(node.metadata.labels), node.metadata.labels)
    )
