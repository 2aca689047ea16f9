"""Writes the status of pools from the facts of all features.

Server-side apply: the fields and conditions of other managers stay.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.kernel.objects import Key
from lading.kernel.pacing import Pacing
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller, own_key
from lading.loop.informer import Informer
from lading.loop.pool_contributions import PoolContributions
from lading.loop.reconciler import ObjectReconciler
from lading.loop.recorder import EventRecorder
from lading.pools import plan
from lading.pools.types import FIELD_MANAGER, ObservedPool, WritePoolStatus
from lading.ports.clock import Clock
from lading.ports.kube import Kube


class PoolStatusReconciler(ObjectReconciler[MachineConfigPool, ObservedPool | None]):
    event_action = "ReportPoolStatus"

    def __init__(
        self,
        *,
        pools: Informer[MachineConfigPool],
        contributions: PoolContributions,
        kube: Kube,
        clock: Clock,
        recorder: EventRecorder,
        pacing: Pacing,
    ) -> None:
        super().__init__(informer=pools, clock=clock, recorder=recorder)
        self._pools = pools
        self._contributions = contributions
        self._kube = kube
        self._pacing = pacing

    async def observe(self, key: Key) -> ObservedPool | None:
        """No await between reading facts and reading their generation."""
        await self._contributions.recount()
        counted, newest = self._pools.get(key), self._objects.get(key)
        if counted is None or newest is None:
            return None
        return ObservedPool(
            pool=newest,
            generation=counted.metadata.generation,
            facts=self._contributions.facts(key.name),
            status_at=self.status_at(key),
            pacing=self._pacing,
        )

    def plan(self, observed: ObservedPool | None, now: datetime) -> Plan:
        return plan.plan(observed, now) if observed else Plan()

    async def apply(self, action: WritePoolStatus) -> None:
        with pipeline.precondition(type(action).__name__):
            written = await write_status(action, self._kube)
        self._objects.add(written)
        self.status_written(written.key)


async def write_status(action: WritePoolStatus, api: Kube) -> MachineConfigPool:
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


class PoolStatusWriter(msgspec.Struct, frozen=True, kw_only=True):
    """Starts the controller when every feature has its facts, or waits for its kinds."""

    controller: Controller
    contributions: PoolContributions

    async def run(self) -> None:
        await self.contributions.wait_settled()
        await self.controller.run()


def watch(
    controller: Controller,
    pools: Informer[MachineConfigPool],
    contributions: PoolContributions,
    debounce_seconds: float,
) -> None:
    def wake(names: Iterable[str] | None) -> None:
        found = pools.known_keys() if names is None else (Key("", name) for name in names)
        controller.wake(*found, debounce_seconds=debounce_seconds)

    controller.watch(pools, own_key)
    contributions.listen(wake)
