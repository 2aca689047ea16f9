"""Writes the status of a pool by server-side apply: what others report about it stays theirs."""

from typing import Any

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.pools.types import FIELD_MANAGER, WritePoolStatus
from lading.ports.kube import Kube


async def apply(action: WritePoolStatus, api: Kube) -> MachineConfigPool:
    """The pool as it is now."""
    body = {
        "apiVersion": MACHINE_CONFIG_POOLS.api_version,
        "kind": MACHINE_CONFIG_POOLS.kind,
        "metadata": {"name": action.pool},
        "status": _ours(action),
    }
    return await api.apply(
        MACHINE_CONFIG_POOLS, body, field_manager=FIELD_MANAGER, force=True, subresource="status"
    )


def _ours(action: WritePoolStatus) -> dict[str, Any]:
    whole = msgspec.to_builtins(action.status)
    found = whole.get("conditions", ())
    return {
        "poolSynchronizersStatus": whole.get("poolSynchronizersStatus", []),
        "conditions": [one for one in found if one["type"] in action.conditions],
    }
