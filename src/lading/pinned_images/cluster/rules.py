"""What the cluster knows about its nodes, as small pure facts."""

from collections.abc import Iterable
from dataclasses import dataclass

from lading.api.core import Node
from lading.api.machineconfiguration import group
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster.types import World

FIELD_MANAGER = "lading-pinned-images"
NODE_DEGRADED = "PinnedImageSetsDegraded"
ENTRIES = "spec", "pinnedImageSets"
"""Where a pool lists its sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node, and what it said last."""

    node: Node
    said: MachineConfigNode | None

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def is_ready(self) -> bool:
        return any(
            one.type == "Ready" and one.status is Truth.TRUE for one in self.node.status.conditions
        )

    @property
    def trouble(self) -> Condition | None:
        """The node's own word that something is wrong."""
        if self.said is None:
            return None
        found = conditions.find(self.said.status.conditions, NODE_DEGRADED)
        return found if found is not None and found.status is Truth.TRUE else None

    @property
    def held(self) -> dict[str, int]:
        """The generation of each set that the node says it holds and pins."""
        entries = self.said.status.pinned_image_sets if self.said else ()
        return {entry.name: entry.current_generation for entry in entries}

    def holds(self, *image_sets: PinnedImageSet) -> bool:
        """Whether it holds the very generations that exist now."""
        held = self.held
        return all(held.get(one.metadata.name) == one.metadata.generation for one in image_sets)

    def error_of(self, image_set: PinnedImageSet) -> str:
        """The node's first error about the set's present generation; empty when there is none.

        An error outlives its cause in the node's list, so it counts only while the node says that
        something is wrong.
        """
        if self.said is None or self.trouble is None or self.holds(image_set):
            return ""
        for entry in self.said.status.pinned_image_sets:
            if (
                entry.name == image_set.metadata.name
                and entry.last_failed_generation == image_set.metadata.generation
            ):
                return next(iter(entry.last_failed_generation_errors), "it failed without a word")
        return ""


def members(world: World) -> tuple[Member, ...]:
    said = {one.metadata.name: one for one in world.machine_config_nodes}
    return tuple(
        Member(node=node, said=said.get(node.metadata.name))
        for node in sorted(world.nodes, key=lambda node: node.metadata.name)
    )


def members_of_pool(pool: MachineConfigPool, world: World) -> tuple[Member, ...]:
    return tuple(
        member for member in members(world) if membership.node_is_in_pool(member.node, pool)
    )


def members_with_set(image_set: PinnedImageSet, world: World) -> tuple[Member, ...]:
    pools = pools_with_set(image_set, world)
    return tuple(
        member
        for member in members(world)
        if membership.set_takes_node(image_set, member.node)
        and any(membership.node_is_in_pool(member.node, pool) for pool in pools)
    )


def holds_everything(member: Member, world: World) -> bool:
    return member.holds(*membership.sets_of_node(member.node, world.pools, world.sets))


def pools_with_set(image_set: PinnedImageSet, world: World) -> tuple[MachineConfigPool, ...]:
    name = image_set.metadata.name
    return tuple(
        pool
        for pool in world.pools
        if any(reference.name == name for reference in pool.spec.pinned_image_sets)
    )


def pools_that_select(image_set: PinnedImageSet, world: World) -> tuple[MachineConfigPool, ...]:
    return tuple(pool for pool in world.pools if membership.set_belongs_to_pool(image_set, pool))


def is_about_to_be_entered(image_set: PinnedImageSet, world: World) -> bool:
    return not pools_with_set(image_set, world) and any(
        image_set.metadata.name in sets_of_pool(pool, world.sets)
        for pool in pools_that_select(image_set, world)
    )


def sets_of_pool(pool: MachineConfigPool, sets: Iterable[PinnedImageSet]) -> tuple[str, ...]:
    """The sets to enter into the pool: all that it selects, as far as it has room.

    What is entered already stays, so that a set too many takes no other set's pins; and what
    others entered stays in any case, so it takes up room.
    """
    selected = {
        one.metadata.name
        for one in sets
        if membership.set_belongs_to_pool(one, pool) and not one.metadata.deletion_timestamp
    }
    entered = {reference.name for reference in pool.spec.pinned_image_sets}
    ours = pool.metadata.applied_names(FIELD_MANAGER, *ENTRIES)
    staying = entered - ours | pool.metadata.names_of_others(FIELD_MANAGER, *ENTRIES)
    first_come = sorted(selected - staying, key=lambda name: (name not in entered, name))
    room = group.SETS_PER_POOL_MAX - len(staying)
    return tuple(sorted({*first_come[:room], *(selected & staying)}))


def another_operator_configures(pool: MachineConfigPool) -> bool:
    """Only OpenShift's operator renders a configuration; it enters sets and counts nodes itself."""
    return bool(pool.spec.configuration)


def another_operator_describes(said: MachineConfigNode) -> bool:
    return bool(said.spec.config_version.desired)
