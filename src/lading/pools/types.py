"""The inputs and actions of the plan for the status of a pool. Frozen data only."""

from collections.abc import Hashable
from datetime import datetime
from enum import StrEnum

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.kernel.pacing import Pacing
from lading.ports.pools import PoolFacts

FIELD_MANAGER = "lading-pools"


class PoolConditionType(StrEnum):
    DEGRADED = "Degraded"
    """A feature has a reason why the pool is degraded."""


class PoolReason(StrEnum):
    AS_EXPECTED = "AsExpected"
    """No feature reports an error."""


class PoolEventReason(StrEnum):
    DEGRADED = "Degraded"
    """A condition that reports errors became true."""
    RECOVERED = "Recovered"
    """A condition that reports errors became false again."""


class ObservedPool(msgspec.Struct, frozen=True, kw_only=True):
    pool: MachineConfigPool
    generation: int
    """Of the pool that the facts are about. `pool` may be newer, by our own write."""
    facts: tuple[PoolFacts, ...] = ()
    """Of every feature with facts about this pool."""
    status_at: datetime | None = None
    """When this process last wrote the status."""
    pacing: Pacing = Pacing()


class WritePoolStatus(msgspec.Struct, frozen=True, kw_only=True):
    pool: str
    status: MachineConfigPoolStatus
    conditions: frozenset[str]
    """The types of our conditions."""
    because: str
    lane: Hashable = "status"
