"""The facts of features about a pool, for the one writer of its status."""

from typing import Protocol

import msgspec

from lading.api.machineconfiguration.machine_config_pool import PoolSynchronizerStatus
from lading.kernel.conditions import Condition


class PoolFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one feature about a pool. The writer of its status combines them."""

    synchronizers: tuple[PoolSynchronizerStatus, ...] = ()
    """Without `observed_generation`, which the writer knows."""
    conditions: tuple[Condition, ...] = ()
    """Conditions of the feature's own types. Each reports an error while it is True."""
    degraded: Condition | None = None
    """Why the pool is Degraded; None when the feature has no reason."""


class PoolContributor(Protocol):
    async def recount(self) -> None:
        """Returns when the facts agree with the caches."""

    def pool_facts(self, pool: str) -> PoolFacts | None:
        """The current facts; None if the feature reports nothing about this pool."""
