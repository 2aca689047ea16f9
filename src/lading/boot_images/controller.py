"""Reconciles the machine sets of one API, and watches what may change them.

One plan is for all machine sets of an API, because they share stubs and the release.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain
from typing import Any

import msgspec
import structlog

from lading.api.core import CONFIG_MAPS, NODES, ConfigMap, Node
from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.openshift_config import ClusterVersion, Infrastructure
from lading.api.operator import MACHINE_CONFIGURATIONS, MachineConfiguration
from lading.boot_images import apply, observe, plan, stream
from lading.boot_images.apply import WriteLedger
from lading.boot_images.observe import Observer
from lading.boot_images.platforms.types import Api
from lading.boot_images.types import (
    OS_RELEASE_LABEL,
    Action,
    BootImageSettings,
    ObservedMachineSets,
    PatchMachineSet,
    ReportMachineSet,
    SaveHistory,
    WriteStub,
)
from lading.boot_images.verdicts import BootImageEventReason, MachineSetState, Why
from lading.kernel.objects import Key, Object, Resource
from lading.kernel.planning import Plan
from lading.loop import pipeline, recorder
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers, OptionalInformer
from lading.loop.reconciler import ReadYourWrites
from lading.loop.recorder import EventRecorder, Severity
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.ec2 import Ec2
from lading.ports.kube import Kube, Selection

KEY = Key("", "machine-sets")

log = structlog.get_logger(__name__)


class WriteFailed(Exception):
    """A write failed. The ledger has the failure, and the next plan uses it."""


class BootImageCaches(msgspec.Struct, frozen=True, kw_only=True):
    machine_sets: tuple[Informer[MachineSet], ...]
    histories: Informer[MachineSetBootImageHistory]
    configurations: Informer[MachineConfiguration]
    golden: Informer[ConfigMap]
    authority: Informer[ConfigMap]
    nodes: Informer[Node]

    @classmethod
    def of(
        cls,
        informers: Informers,
        machine_sets: Resource[MachineSet],
        api: Api,
        settings: BootImageSettings,
        namespace: str,
    ) -> "BootImageCaches":
        def config_map(name: str) -> Informer[ConfigMap]:
            selector = f"metadata.name={name}"
            return informers.of(
                CONFIG_MAPS,
                Selection(namespace=settings.golden_namespace, field_selector=selector),
            )

        return cls(
            machine_sets=tuple(
                informers.of(machine_sets, Selection(namespace=one))
                for one in settings.namespaces(api)
            ),
            histories=informers.of(
                MACHINE_SET_BOOT_IMAGE_HISTORIES, Selection(namespace=namespace)
            ),
            configurations=informers.of(MACHINE_CONFIGURATIONS),
            golden=config_map(stream.NAME),
            authority=config_map(observe.AUTHORITY_NAME),
            nodes=informers.of(NODES),
        )


class MachineSetsReconciler:
    def __init__(
        self,
        *,
        api: Api,
        machine_sets: Resource[MachineSet],
        kube: Kube,
        clock: Clock,
        caches: BootImageCaches,
        cluster_versions: OptionalInformer[ClusterVersion],
        infrastructures: OptionalInformer[Infrastructure],
        settings: BootImageSettings,
        recorder: EventRecorder,
        namespace: str,
        ec2: Ec2 | None = None,
    ) -> None:
        self._api = api
        self._resource = machine_sets
        self._kube = kube
        self._clock = clock
        self._caches = caches
        self._cluster_versions = cluster_versions
        self._infrastructures = infrastructures
        self._settings = settings
        self._recorder = recorder
        self._namespace = namespace
        self._observer = Observer(kube, clock, settings, ec2)
        self._ledger = WriteLedger(clock, settings.retry)
        self._machine_sets = {
            one.selection.namespace: ReadYourWrites(one, clock) for one in caches.machine_sets
        }
        self._histories = ReadYourWrites(caches.histories, clock)
        self._golden = ReadYourWrites(caches.golden, clock)

    async def reconcile(self, key: Key) -> datetime | None:
        """The plan decides when a failed write is retried, so it is no error of the key."""
        try:
            return await pipeline.reconcile(self, key, self._clock)
        except ExceptionGroup as group:
            others = group.split(WriteFailed)[1]
            if others is not None:
                raise others from None
            return self._clock.now() + timedelta(seconds=self._settings.retry.seconds_min)

    async def observe(self, key: Key) -> ObservedMachineSets:
        return await self._observer.complete(
            ObservedMachineSets(
                api=self._api,
                machine_sets=tuple(chain.from_iterable(self._machine_sets.values())),
                histories=tuple(self._histories),
                configurations=tuple(self._caches.configurations),
                golden=next(iter(self._golden), None),
                authority=next(iter(self._caches.authority), None),
                cluster_version=await self._cluster_versions.get("version"),
                infrastructure=await self._infrastructures.get("cluster"),
                nodes=tuple(self._caches.nodes),
                failures=self._ledger.failures(),
                unapplied=frozenset(self._ledger.unapplied),
            )
        )

    def plan(self, observed: ObservedMachineSets, now: datetime) -> Plan:
        return plan.plan(observed, self._settings, now, namespace=self._namespace)

    async def apply(self, action: Action) -> None:
        known = self._histories.get(action.key) if isinstance(action, SaveHistory) else None
        version = known.metadata.resource_version if known else ""
        if isinstance(action, PatchMachineSet):
            self._ledger.unapplied.add(action.lane)
        try:
            with pipeline.precondition(type(action).__name__):
                written = await apply.apply(
                    action, self._kube, self._resource, resource_version=version
                )
        except (kube.Forbidden, kube.Invalid, kube.Transient) as error:
            self._ledger.failed(action.lane, error)
            log.warning("write failed", lane=str(action.lane), error=str(error))
            raise WriteFailed(f"{type(action).__name__} failed: {error}") from error
        finally:
            if isinstance(action, WriteStub):
                self._observer.forget_secret(action.key)
        self._ledger.succeeded(action)
        self._remember(written)
        self._record(action, written)

    def _remember(self, written: Object | None) -> None:
        match written:
            case MachineSet():
                self._machine_sets[written.key.namespace].add(written)
            case MachineSetBootImageHistory():
                self._histories.add(written)
            case ConfigMap():
                self._golden.add(written)
            case _:
                pass

    def _record(self, action: Action, written: Object | None) -> None:
        match action:
            case PatchMachineSet(because=because) if written is not None:
                self._event(written, BootImageEventReason.UPDATED, because, Severity.NORMAL)
            case ReportMachineSet(lane=("set", _, Key() as key, *_), status=status) if (
                status.state == MachineSetState.FAILED
            ):
                found = self._machine_sets[key.namespace].get(key)
                if found is not None:
                    self._event(found, Why(status.reason), status.message, Severity.WARNING)
            case _:
                pass

    def _event(self, regarding: Object, reason: StrEnum, note: str, severity: Severity) -> None:
        self._recorder.record(
            recorder.reference(self._resource, regarding),
            reason=reason,
            action="UpdateBootImage",
            note=note,
            severity=severity,
        )


def watch(
    controller: Controller,
    caches: BootImageCaches,
    cluster_versions: OptionalInformer[ClusterVersion],
    infrastructures: OptionalInformer[Infrastructure],
    settings: BootImageSettings,
) -> None:
    soon = settings.changes_debounce_seconds

    def everything(old: object, new: object) -> Iterable[Key]:
        return (KEY,)

    def if_it_matters(old: Node | None, new: Node | None) -> Iterable[Key]:
        return () if _facts_of(old) == _facts_of(new) else (KEY,)

    def if_its_status_changed(
        old: ClusterVersion | Infrastructure | None, new: ClusterVersion | Infrastructure | None
    ) -> Iterable[Key]:
        is_same = old is not None and new is not None and old.status == new.status
        return () if is_same else (KEY,)

    informers: tuple[Informer[Any], ...] = (
        *caches.machine_sets,
        caches.configurations,
        caches.golden,
        caches.authority,
        caches.histories,
    )
    for informer in informers:
        controller.watch(informer, everything, debounce_seconds=soon)
    controller.watch(caches.nodes, if_it_matters, debounce_seconds=soon)
    controller.watch(cluster_versions, if_its_status_changed, debounce_seconds=soon)
    controller.watch(infrastructures, if_its_status_changed, debounce_seconds=soon)


def _facts_of(node: Node | None) -> tuple[object, ...] | None:
    """The fields that can prove a release or name an architecture; no heartbeat."""
    if node is None:
        return None
    ready = [one.status for one in node.status.conditions if one.type == "Ready"]
    info = node.status.node_info
    labels = [node.metadata.labels.get(one) for one in (OS_RELEASE_LABEL, stream.STREAM_LABEL)]
    return tuple(ready), info.os_image, info.architecture, *labels
