"""Wires what is reported on MachineConfigurations and the worker pool, from the histories."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.machineconfiguration.machine_config_pool import (
    MACHINE_CONFIG_POOLS,
    MachineConfigPool,
)
from lading.api.operator import MACHINE_CONFIGURATIONS, MachineConfiguration
from lading.boot_images import apply, report
from lading.boot_images.metrics import BootImageMetrics
from lading.boot_images.types import Action
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection

DEBOUNCE_SECONDS = 0.3  # many machine sets are reported close together
WORKER_POOL = Key("pool", "worker")
"""No namespace is called so by us: it tells the pool apart from a MachineConfiguration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCaches:
    configurations: Informer[MachineConfiguration]
    histories: Informer[MachineSetBootImageHistory]
    pools: Informer[MachineConfigPool]

    @classmethod
    def of(cls, informers: Informers, namespace: str) -> "ReportCaches":
        return cls(
            configurations=informers.of(MACHINE_CONFIGURATIONS),
            histories=informers.of(
                MACHINE_SET_BOOT_IMAGE_HISTORIES, Selection(namespace=namespace)
            ),
            pools=informers.of(MACHINE_CONFIG_POOLS),
        )


class ReportReconciler:
    """Each key is a MachineConfiguration, or the worker pool."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        caches: ReportCaches,
        metrics: BootImageMetrics,
        is_on: bool,
    ) -> None:
        self._kube = kube
        self._metrics = metrics
        self._clock = clock
        self._caches = caches
        self._is_on = is_on

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> Key:
        self._metrics.count(self._caches.histories)
        return key

    def plan(self, observed: Key, now: datetime) -> Plan:
        configurations = tuple(self._caches.configurations)
        if observed == WORKER_POOL:
            pool = self._caches.pools.get(Key("", observed.name))
            histories = self._caches.histories
            return report.plan_pool(pool, configurations, histories, now, is_on=self._is_on)
        return report.plan(
            observed.name, configurations, self._caches.histories, now, is_on=self._is_on
        )

    async def apply(self, action: Action) -> None:
        with pipeline.precondition(type(action).__name__):
            await apply.apply(action, self._kube)


def watch(controller: Controller, caches: ReportCaches) -> None:
    def everything(old: object, new: object) -> Iterable[Key]:
        return (*caches.configurations.known_keys(), WORKER_POOL)

    def worker_pool(old: MachineConfigPool | None, new: MachineConfigPool | None) -> Iterable[Key]:
        one = new or old
        return (WORKER_POOL,) if one and one.metadata.name == WORKER_POOL.name else ()

    controller.watch(caches.configurations, everything)
    controller.watch(caches.histories, everything, debounce_seconds=DEBOUNCE_SECONDS)
    controller.watch(caches.pools, worker_pool)
