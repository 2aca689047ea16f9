"""What the status of a pool is planned from, and the actions of that plan. Frozen data only."""

from collections.abc import Hashable
from dataclasses import dataclass

from lading.api.machineconfiguration.machine_config_pool import (
    MachineConfigPool,
    MachineConfigPoolStatus,
)
from lading.kernel.pacing import FLEET_PACING, FleetPacing, Writes
from lading.pools.reasons import PoolEventReason
from lading.ports.pools import PoolFacts

FIELD_MANAGER = "lading-pools"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    facts_debounce_seconds: float = 0.5
    """Many nodes report close together."""
    status_pacing: FleetPacing = FLEET_PACING


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPool:
    pool: MachineConfigPool
    generation: int
    """That the facts are about; the pool may be newer, by a write of ours."""
    facts: tuple[PoolFacts, ...] = ()
    """Of every feature that has any about this pool."""
    status_writes: Writes = ()
    settings: PoolSettings = PoolSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePoolStatus:
    pool: str
    status: MachineConfigPoolStatus
    conditions: frozenset[str]
    """The types of those that are ours."""
    because: str
    lane: Hashable = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPoolEvent:
    """Follows the status: while that cannot be written, the same would be recorded each time."""

    pool: str
    reason: PoolEventReason
    warning: bool
    because: str
    lane: Hashable = "status"
