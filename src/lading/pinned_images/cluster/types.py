"""The inputs and actions of the plans for nodes, pools and sets. Frozen data only."""

from collections.abc import Hashable
from datetime import datetime
from typing import Any

import msgspec

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.api.machineconfiguration.pinned_image_set import (
    NodeFailure,
    PinnedImageSet,
    PinnedImageSetStatus,
)
from lading.kernel.pacing import Pacing


class NodeProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An error that a node reports."""

    node: str
    reason: str
    message: str


class SetCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over the nodes of one set, and the names of a few failing nodes."""

    node_count: int = 0
    ready_node_count: int = 0
    failed_node_count: int = 0
    failures: tuple[NodeFailure, ...] = ()


class PoolCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over the nodes with this primary pool, and a few of their problems."""

    machine_count: int = 0
    updated_machine_count: int = 0
    ready_machine_count: int = 0
    available_machine_count: int = 0
    problem_counts: tuple[tuple[str, int], ...] = ()
    """The number of nodes for each reason, sorted."""
    problems: tuple[NodeProblem, ...] = ()
    no_space: tuple[NodeProblem, ...] = ()


class ObservedNode(msgspec.Struct, frozen=True, kw_only=True):
    node: Node
    primary_pool: str
    """Empty if no pool selects the node."""
    default_pools_exist: bool
    machine_config_node: MachineConfigNode | None


class ObservedPoolSets(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pool: MachineConfigPool | None
    """None if it does not exist."""
    selected_sets: frozenset[str] = frozenset()
    """The sets that the pool selects by their labels."""
    is_on: bool = True
    """Whether the feature is on. If it is off, our sets are removed from the pools."""


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Explains why a set has no nodes."""

    pools: tuple[str, ...] = ()
    """Pools that have the set."""
    pools_have_nodes: bool = False
    selecting_pools: tuple[str, ...] = ()
    """Pools that select the set by its labels."""
    is_about_to_be_assigned: bool = False


class ObservedSet(msgspec.Struct, frozen=True, kw_only=True):
    image_set: PinnedImageSet
    """Of the generation that was counted, with the newest status and resourceVersion."""
    counts: SetCounts = SetCounts()
    placement: Placement = Placement()
    status_at: datetime | None = None
    """When this process last wrote the status."""
    is_on: bool = True
    pacing: Pacing = Pacing()


class CreatePool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    spec: dict[str, Any]
    because: str

    @property
    def lane(self) -> Hashable:
        return "pool", self.name


class AssignSetsToPool(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces our entries in `pinnedImageSets` of the pool. Entries of others stay."""

    pool: str
    uid: str
    """Of the observed pool: apply without it would create a deleted pool again."""
    sets: tuple[str, ...]
    because: str
    lane: Hashable = "spec"


class WriteSetStatus(msgspec.Struct, frozen=True, kw_only=True):
    image_set: str
    resource_version: str
    """Of the observed set: the status must not go to another set of the same name."""
    status: PinnedImageSetStatus
    because: str
    lane: Hashable = "status"


class ApplyMachineConfigNode(msgspec.Struct, frozen=True, kw_only=True):
    """Applies the MachineConfigNode of a Node, with the Node as owner and its primary pool."""

    node: Node
    pool: str
    because: str
    lane: Hashable = "node"
