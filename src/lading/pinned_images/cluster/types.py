"""What the cluster's plans are made from, and the actions they consist of. Frozen data only."""

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lading.api.core import Node
from lading.api.machineconfiguration.machine_config_node import MachineConfigNode
from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.api.machineconfiguration.pinned_image_set import PinnedImageSet, PinnedImageSetStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The caches at one moment. `written_at` is when the status in question was last written."""

    nodes: tuple[Node, ...] = ()
    pools: tuple[MachineConfigPool, ...] = ()
    sets: tuple[PinnedImageSet, ...] = ()
    machine_config_nodes: tuple[MachineConfigNode, ...] = ()
    written_at: datetime | None = None
    is_on: bool = True
    """Whether the feature is on; off, no set is entered into a pool."""


class Reason(StrEnum):
    """The reasons of the conditions of pools and sets."""

    AS_EXPECTED = "AsExpected"
    NO_SPACE = "NoSpace"
    NODES_DEGRADED = "NodesDegraded"
    IN_PROGRESS = "InProgress"
    NO_NODES = "NoNodes"
    GATE_OFF = "FeatureGateOff"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePool:
    name: str
    spec: dict[str, Any]
    because: str

    @property
    def lane(self) -> Hashable:
        return "pool", self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterSets:
    """Makes these our entries in the pool's `pinnedImageSets`; entries of others stay."""

    pool: str
    uid: str
    """Of the pool that was seen: an apply without it would bring back one that was deleted."""
    sets: tuple[str, ...]
    because: str
    lane: Hashable = "spec"


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePoolStatus:
    pool: str
    status: MachineConfigPoolStatus
    because: str
    lane: Hashable = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSetStatus:
    image_set: str
    status: PinnedImageSetStatus
    because: str
    lane: Hashable = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeNode:
    """Makes the node's MachineConfigNode, owned by the Node, and names its primary pool."""

    node: Node
    pool: str
    because: str
    lane: Hashable = "node"
