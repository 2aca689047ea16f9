"""What the status of a pool is planned from, and the actions of that plan. Frozen data only."""

from collections.abc import Hashable

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.kernel.pacing import FLEET_PACING, FleetPacing, Writes
from lading.pools.reasons import PoolEventReason
from lading.ports.pools import PoolFacts

FIELD_MANAGER = "lading-pools"


class PoolSettings(msgspec.Struct, frozen=True, kw_only=True):
    facts_debounce_seconds: float = 0.5
    """Many nodes report close together."""
    status_pacing: FleetPacing = FLEET_PACING


class ObservedPool(msgspec.Struct, frozen=True, kw_only=True):
    pool: MachineConfigPool
    generation: int
    """That the facts are about; the pool may be newer, by a write of ours."""
    facts: tuple[PoolFacts, ...] = ()
    """Of every feature that has any about this pool."""
    status_writes: Writes = ()
    settings: PoolSettings = PoolSettings()


class WritePoolStatus(msgspec.Struct, frozen=True, kw_only=True):
    pool: str
    status: MachineConfigPoolStatus
    conditions: frozenset[str]
    """The types of those that are ours."""
    because: str
    lane: Hashable = "status"


class RecordPoolEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Follows the status: while that cannot be written, the same would be recorded each time."""

    pool: str
    reason: PoolEventReason
    warning: bool
    because: str
    lane: Hashable = "status"
