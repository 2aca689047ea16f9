"""What a feature tells the one writer of a pool's status, and how it is asked for it."""

from typing import Protocol

import msgspec

from lading.api.machineconfiguration.machine_config_pool import PoolSynchronizerStatus
from lading.kernel.conditions import Condition


class PoolFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one feature knows about a pool. The one writer of its status combines them all."""

    synchronizers: tuple[PoolSynchronizerStatus, ...] = ()
    """Without `observed_generation`, which the writer knows."""
    conditions: tuple[Condition, ...] = ()
    """Of the feature's own types. Each reports an error while it is True."""
    degraded: Condition | None = None
    """Why the pool is Degraded; None when the feature has no reason."""


class PoolContributor(Protocol):
    async def recount(self) -> None:
        """Returns when the facts agree with the caches."""

    def pool_facts(self, pool: str) -> PoolFacts | None:
        """The facts as they are now; None when the feature reports nothing about this pool."""
