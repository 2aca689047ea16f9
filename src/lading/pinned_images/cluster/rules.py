"""What the cluster knows about its nodes, as small pure facts."""

from collections.abc import Iterable
from dataclasses import dataclass

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet
from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images import rules as membership
from lading.pinned_images.cluster.types import World

NODE_DEGRADED = "PinnedImageSetsDegraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node, what it said last, and the sets that it must hold."""

    node: Node
    said: MachineConfigNode | None
    sets: tuple[PinnedImageSet, ...]

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

    def holds(self, image_set: PinnedImageSet) -> bool:
        """The node says that it holds and pins the very generation that exists now."""
        entries = self.said.status.pinned_image_sets if self.said else ()
        return any(
            entry.name == image_set.metadata.name
            and entry.current_generation == image_set.metadata.generation
            for entry in entries
        )

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
        Member(
            node=node,
            said=said.get(node.metadata.name),
            sets=membership.sets_of_node(node, world.pools, world.sets),
        )
        for node in sorted(world.nodes, key=lambda node: node.metadata.name)
    )


def members_of_pool(pool: MachineConfigPool, world: World) -> tuple[Member, ...]:
    return tuple(
        member for member in members(world) if membership.node_is_in_pool(member.node, pool)
    )


def members_with_set(image_set: PinnedImageSet, world: World) -> tuple[Member, ...]:
    name = image_set.metadata.name
    return tuple(
        member for member in members(world) if any(one.metadata.name == name for one in member.sets)
    )


def sets_of_pool(pool: MachineConfigPool, sets: Iterable[PinnedImageSet]) -> tuple[str, ...]:
    return tuple(
        sorted(
            one.metadata.name
            for one in sets
            if membership.set_belongs_to_pool(one, pool) and not one.metadata.deletion_timestamp
        )
    )
