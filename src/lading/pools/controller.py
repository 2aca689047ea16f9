"""Wires the one writer of the status of pools over the facts of all features."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from lading.api.machineconfiguration.machine_config_pool import MachineConfigPool
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller, own_key
from lading.loop.informer import Informer
from lading.loop.pool_contributions import PoolContributions
from lading.loop.reconciler import ObjectReconciler
from lading.loop.recorder import EventRecorder
from lading.pools import apply, plan
from lading.pools.types import ObservedPool, PoolSettings, RecordPoolEvent, WritePoolStatus
from lading.ports.clock import Clock
from lading.ports.kube import Kube


class PoolStatusReconciler(ObjectReconciler[MachineConfigPool, ObservedPool | None]):
    def __init__(
        self,
        *,
        pools: Informer[MachineConfigPool],
        contributions: PoolContributions,
        kube: Kube,
        clock: Clock,
        recorder: EventRecorder,
        settings: PoolSettings,
    ) -> None:
        super().__init__(informer=pools, clock=clock, recorder=recorder)
        self._pools = pools
        self._contributions = contributions
        self._kube = kube
        self._settings = settings

    async def observe(self, key: Key) -> ObservedPool | None:
        """Facts, and the generation that they are about, are read without waiting in between."""
        await self._contributions.recount()
        counted, newest = self._pools.get(key), self._objects.get(key)
        if counted is None or newest is None:
            return None
        return ObservedPool(
            pool=newest,
            generation=counted.metadata.generation,
            facts=self._contributions.facts(key.name),
            status_writes=self.status_writes(key),
            settings=self._settings,
        )

    def plan(self, observed: ObservedPool | None, now: datetime) -> Plan:
        return plan.plan(observed, now) if observed else Plan()

    async def apply(self, action: WritePoolStatus | RecordPoolEvent) -> None:
        if isinstance(action, RecordPoolEvent):
            self.record(
                Key("", action.pool),
                reason=action.reason,
                action="ReportPoolStatus",
                note=action.because,
                warning=action.warning,
            )
            return
        with pipeline.precondition(type(action).__name__):
            written = await apply.apply(action, self._kube)
        self._objects.add(written)
        self.status_written(written.key)


class PoolStatusWriter(msgspec.Struct, frozen=True, kw_only=True):
    """The controller, which begins when every feature has its facts or is known to wait."""

    controller: Controller
    contributions: PoolContributions

    async def run(self) -> None:
        await self.contributions.wait_settled()
        await self.controller.run()


def watch(
    controller: Controller,
    pools: Informer[MachineConfigPool],
    contributions: PoolContributions,
    settings: PoolSettings,
) -> None:
    def wake(names: Iterable[str] | None) -> None:
        found = pools.known_keys() if names is None else (Key("", name) for name in names)
        controller.wake(*found, debounce_seconds=settings.facts_debounce_seconds)

    controller.watch(pools, own_key)
    contributions.listen(wake)
