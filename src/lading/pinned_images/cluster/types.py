"""What the cluster's plans are made from, and the actions they consist of. Frozen data only."""

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
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
from lading.kernel.pacing import FLEET_PACING, FleetPacing, Writes
from lading.pinned_images.reasons import EventReason

NODES_AT_ONCE = 10  # in a small fleet no write waits for another


class FleetSettings(msgspec.Struct, frozen=True, kw_only=True):
    count_debounce_seconds: float = 0.5
    """Many nodes report close together."""
    entry_debounce_seconds: float = 1.0
    """Sets are applied many at a time, and each entry of a pool is sent to every agent."""
    entry_delay_per_node: timedelta = timedelta(seconds=0.1)
    """Sets that are made one after the other enter a large pool together."""
    entry_delay_max: timedelta = timedelta(seconds=10)
    first_status_delay_per_node: timedelta = timedelta(seconds=1)
    """A new set of images that are on the nodes already is ready soon: then one write is enough."""
    first_status_delay_max: timedelta = timedelta(minutes=1)
    status_pacing: FleetPacing = FLEET_PACING
    rollout_silence: timedelta = timedelta(minutes=15)
    """The nodes of a rollout that stands still report nothing for this long. Longer than the
    ten minutes after which an agent cancels a pull and reports it."""

    def entry_delay(self, nodes: int) -> timedelta:
        """How long a set that was just made waits for others, so that one write enters them all."""
        return min(self.entry_delay_per_node * _waited_for(nodes), self.entry_delay_max)

    def first_status_delay(self, nodes: int) -> timedelta:
        """How long a new set that is in progress is without a status."""
        delay = self.first_status_delay_per_node * _waited_for(nodes)
        return min(delay, self.first_status_delay_max)


def _waited_for(nodes: int) -> int:
    return max(0, nodes - NODES_AT_ONCE)


class NodeProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An error that a node reports."""

    node: str
    reason: str
    message: str


class SetCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one set, summed up; of failing nodes a few are named."""

    node_count: int = 0
    ready_node_count: int = 0
    failed_node_count: int = 0
    failures: tuple[NodeFailure, ...] = ()


class PoolCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes for which the pool is the primary one, summed up; of problems a few are named."""

    machine_count: int = 0
    updated_machine_count: int = 0
    ready_machine_count: int = 0
    available_machine_count: int = 0
    problem_counts: tuple[tuple[str, int], ...] = ()
    """Nodes by the reason that they report, sorted."""
    problems: tuple[NodeProblem, ...] = ()
    no_space: tuple[NodeProblem, ...] = ()


class ObservedNode(msgspec.Struct, frozen=True, kw_only=True):
    node: Node
    primary_pool: str
    """Empty when no pool selects the node."""
    default_pools_exist: bool
    described: MachineConfigNode | None


class ObservedPoolSets(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pool: MachineConfigPool | None
    """None when it does not exist."""
    selected_sets: Mapping[str, str] = {}
    """The sets that the pool selects by their labels, and when each was created."""
    node_count: int = 0
    """Of all nodes that the pool selects."""
    is_on: bool = True
    """Whether the feature is on; off, no set is entered into a pool."""
    settings: FleetSettings = FleetSettings()


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """How a set gets to nodes, as far as it needs explaining when it reaches none."""

    pools: tuple[str, ...] = ()
    """That have the set."""
    pools_have_nodes: bool = False
    selecting_pools: tuple[str, ...] = ()
    """That select the set by its labels."""
    is_about_to_be_entered: bool = False


class ObservedSet(msgspec.Struct, frozen=True, kw_only=True):
    image_set: PinnedImageSet
    """Of the generation that was counted, with the newest status and revision."""
    reported_at: datetime
    """When a node of the set last reported anything, or the set was made."""
    counts: SetCounts = SetCounts()
    placement: Placement = Placement()
    status_writes: Writes = ()
    is_on: bool = True
    settings: FleetSettings = FleetSettings()


class CreatePool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    spec: dict[str, Any]
    because: str

    @property
    def lane(self) -> Hashable:
        return "pool", self.name


class EnterSets(msgspec.Struct, frozen=True, kw_only=True):
    """Makes these our entries in the pool's `pinnedImageSets`; entries of others stay."""

    pool: str
    uid: str
    """Of the pool that was seen: an apply without it would bring back one that was deleted."""
    sets: tuple[str, ...]
    because: str
    lane: Hashable = "spec"


class WriteSetStatus(msgspec.Struct, frozen=True, kw_only=True):
    image_set: str
    resource_version: str
    """Of the set that was seen: the status must not reach another one of the same name."""
    status: PinnedImageSetStatus
    because: str
    lane: Hashable = "status"


class DescribeNode(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the node's MachineConfigNode, owned by the Node, and names its primary pool."""

    node: Node
    pool: str
    because: str
    lane: Hashable = "node"


class RecordClusterEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Follows its status: while that cannot be written, the same would be recorded each time."""

    name: str
    """Of the object that the event is about."""
    reason: EventReason
    warning: bool
    because: str
    lane: Hashable = "status"
