"""Writes the status of MachineConfigurations, and counts machine sets for pools and metrics."""

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.operator import MACHINE_CONFIGURATIONS, MachineConfiguration
from lading.boot_images import apply, status
from lading.boot_images.metrics import BootImageMetrics
from lading.boot_images.status import ObservedConfiguration
from lading.boot_images.types import Action, BootImageSettings
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection
from lading.ports.pools import PoolFacts


class StatusCaches(msgspec.Struct, frozen=True, kw_only=True):
    configurations: Informer[MachineConfiguration]
    histories: Informer[MachineSetBootImageHistory]

    @classmethod
    def of(cls, informers: Informers, namespace: str) -> "StatusCaches":
        return cls(
            configurations=informers.of(MACHINE_CONFIGURATIONS),
            histories=informers.of(
                MACHINE_SET_BOOT_IMAGE_HISTORIES, Selection(namespace=namespace)
            ),
        )


class StatusReconciler:
    """Each key is a MachineConfiguration. It also contributes to the status of pools."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        caches: StatusCaches,
        metrics: BootImageMetrics,
        is_on: bool,
    ) -> None:
        self._kube = kube
        self._metrics = metrics
        self._clock = clock
        self._caches = caches
        self._is_on = is_on

    async def reconcile(self, key: Key) -> datetime | None:
        self._metrics.count(self._caches.histories)
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> ObservedConfiguration:
        return ObservedConfiguration(
            name=key.name,
            configurations=tuple(self._caches.configurations),
            histories=tuple(self._caches.histories),
        )

    def plan(self, observed: ObservedConfiguration, now: datetime) -> Plan:
        return status.plan(observed, now, is_on=self._is_on)

    async def recount(self) -> None:
        """Nothing to count: the facts come from the caches."""

    def pool_facts(self, pool: str) -> PoolFacts | None:
        configurations = tuple(self._caches.configurations)
        return status.pool_facts(pool, configurations, self._caches.histories, is_on=self._is_on)

    async def apply(self, action: Action) -> None:
        with pipeline.precondition(type(action).__name__):
            await apply.apply(action, self._kube)


def watch(
    controller: Controller,
    caches: StatusCaches,
    settings: BootImageSettings,
    pools_changed: Callable[[Iterable[str]], None],
) -> None:
    """Calls `pools_changed` with the pools that may have other facts now."""

    def everything(old: object, new: object) -> Iterable[Key]:
        pools_changed((status.WORKER_POOL,))
        return tuple(caches.configurations.known_keys())

    controller.watch(caches.configurations, everything)
    soon = settings.changes_debounce_seconds
    controller.watch(caches.histories, everything, debounce_seconds=soon)
