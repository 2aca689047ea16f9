"""Builders of pools and of the facts that features contribute."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
    PoolSynchronizerStatus,
    PoolSynchronizerType,
)
from lading.kernel.conditions import Condition, Truth
from lading.ports.pools import PoolFacts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POOL: dict[str, Any] = {
    "apiVersion": MACHINE_CONFIG_POOLS.api_version,
    "kind": MACHINE_CONFIG_POOLS.kind,
    "metadata": {"name": "infra"},
    "spec": {"nodeSelector": {}},
}


def pool(**parts: Any) -> MachineConfigPool:
    metadata = {"name": "infra", "uid": "uid-infra", "generation": 4}
    return msgspec.convert({**POOL, "metadata": metadata, **parts}, MachineConfigPool)


def condition(
    type_: str = "ADegraded",
    *,
    error: str = "",
    reason: str = "Broken",
    message: str = "No errors",
    **parts: Any,
) -> Condition:
    return Condition(
        type=type_,
        status=Truth.TRUE if error else Truth.FALSE,
        reason=reason if error else "AsExpected",
        message=error or message,
        **parts,
    )


def facts(
    type_: str = "ADegraded",
    *,
    error: str = "",
    reason: str = "Broken",
    message: str = "No errors",
    machines: int = 0,
    updated: int = 0,
) -> PoolFacts:
    """Of a feature with one condition; an error degrades the pool too."""
    found = condition(type_, error=error, reason=reason, message=message)
    counts = PoolSynchronizerStatus(
        pool_synchronizer_type=PoolSynchronizerType.PINNED_IMAGE_SETS,
        machine_count=machines,
        updated_machine_count=updated,
        ready_machine_count=0,
        available_machine_count=0,
        unavailable_machine_count=0,
    )
    return PoolFacts(
        conditions=(found,),
        degraded=found if error else None,
        synchronizers=(counts,) if machines else (),
    )


@dataclass
class Contributor:
    """A feature with facts that a test changes."""

    found: PoolFacts | None = None
    recounts: list[None] = field(default_factory=list)

    async def recount(self) -> None:
        self.recounts.append(None)

    def pool_facts(self, pool: str) -> PoolFacts | None:
        return self.found
