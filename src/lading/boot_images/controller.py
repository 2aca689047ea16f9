"""Wires the passes over machine sets: which changes start one, and what a failed write means.

All machine sets of one API are planned together, because they share stubs and the release.
"""

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain
from typing import Any

import msgspec
import structlog

from lading.api.cluster_api import TemplateKey
from lading.api.core import CONFIG_MAPS, NODES, ConfigMap, Node
from lading.api.machine import MachineSet
from lading.api.machineconfiguration.boot_image_history import (
    MACHINE_SET_BOOT_IMAGE_HISTORIES,
    MachineSetBootImageHistory,
)
from lading.api.openshift_config import ClusterVersion, Infrastructure
from lading.api.operator import MACHINE_CONFIGURATIONS, MachineConfiguration
from lading.boot_images import amis, apply, machines, observe, plan, rules, stream, unused_templates
from lading.boot_images.platforms.types import Api
from lading.boot_images.reasons import BootImageEventReason
from lading.boot_images.types import (
    OS_RELEASE_LABEL,
    Action,
    BootImageSettings,
    DeleteTemplate,
    FailedWrite,
    MarkTemplate,
    ObservedMachineSets,
    PatchMachineSet,
    ReportMachineSet,
    SaveHistory,
    WriteStub,
)
from lading.boot_images.verdicts import MachineSetState, Why
from lading.kernel.objects import Key, Object, Resource
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import event_series, pipeline
from lading.loop.controller import Controller
from lading.loop.event_series import Severity
from lading.loop.informer import Informer, Informers
from lading.loop.optional_informer import OptionalInformer
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.ec2 import Ec2
from lading.ports.kube import Kube, Selection

KEY = Key("", "machine-sets")

log = structlog.get_logger(__name__)


class WriteFailed(Exception):
    """A write of one lane failed; the next pass plans with that fact."""


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
    """One pipeline over all machine sets of one API."""

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
        self._secrets = observe.SecretReader(kube, clock, settings.secrets_interval)
        self._amis = amis.AmiReader(ec2, clock, settings.secrets_interval)
        self._failures: dict[Hashable, FailedWrite] = {}
        self._machine_sets = {
            one.selection.namespace: ReadYourWrites(one, clock) for one in caches.machine_sets
        }
        self._histories = ReadYourWrites(caches.histories, clock)
        self._golden = ReadYourWrites(caches.golden, clock)

    async def reconcile(self, key: Key) -> datetime | None:
        """A failed write does not retry at once: the next pass plans with that fact."""
        try:
            return await pipeline.reconcile(self, key, self._clock)
        except ExceptionGroup as group:
            others = group.split(WriteFailed)[1]
            if others is not None:
                raise others from None
            return self._clock.now() + timedelta(seconds=self._settings.retry.seconds_min)

    async def observe(self, key: Key) -> ObservedMachineSets:
        machine_sets = tuple(chain.from_iterable(self._machine_sets.values()))
        is_cluster = self._api is Api.CLUSTER
        namespaces = self._settings.cluster_api_namespaces
        templates = (
            await observe.templates(self._kube, machine_sets, namespaces_of_clones=namespaces)
            if is_cluster
            else {}
        )
        others = await observe.authorities(self._kube, self._settings) if is_cluster else {}
        version = await self._cluster_versions.get("version")
        can_prove = version is None  # beside a ClusterVersion no node counts
        configurations = tuple(self._caches.configurations)
        enrolment = rules.enrolment(configurations)
        enrolled = [one for one in machine_sets if enrolment.includes(self._api, one)]
        wanted = observe.secrets_wanted(self._api, enrolled, templates)
        infrastructure = await self._infrastructures.get("cluster")
        observed = ObservedMachineSets(
            api=self._api,
            machine_sets=machine_sets,
            other_machine_sets=others,
            templates=templates,
            histories=tuple(self._histories),
            configurations=configurations,
            golden=next(iter(self._golden), None),
            authority=next(iter(self._caches.authority), None),
            cluster_version=version,
            infrastructure=infrastructure,
            nodes=tuple(self._caches.nodes),
            machine_images=await self._machine_images(infrastructure) if can_prove else {},
            secrets=await self._secrets.read(wanted),
            failures=dict(self._failures),
        )
        region = rules.region(observed)
        return replace(
            observed,
            templates_in_use=await self._templates_in_use(observed),
            amis=await self._amis.read(amis.wanted(self._api, enrolled, templates, region=region)),
        )

    async def _machine_images(self, infrastructure: Infrastructure | None) -> dict[str, str]:
        name = self._settings.cluster_name or rules.name_of(infrastructure)
        found = await machines.made(self._kube, self._settings, cluster_name=name)
        return {one.node: one.image for one in found if one.node}

    async def _templates_in_use(
        self, observed: ObservedMachineSets
    ) -> frozenset[TemplateKey] | None:
        """Read anew, and only where a clone may be removed: a cache may lag behind."""
        candidates = unused_templates.may_be_unused(observed)
        if not candidates:
            return None
        kinds = {kind for kind, _, _ in candidates}
        return await machines.templates_in_use(self._kube, self._settings, kinds)

    def plan(self, observed: ObservedMachineSets, now: datetime) -> Plan:
        return plan.plan(observed, self._settings, now, namespace=self._namespace)

    async def apply(self, action: Action) -> None:
        try:
            with pipeline.precondition(type(action).__name__):
                written = await self._apply(action)
        except (kube.Forbidden, kube.Invalid, kube.Transient) as error:
            self._failed(action.lane, error)
            raise WriteFailed(f"{type(action).__name__} failed: {error}") from error
        finally:
            if isinstance(action, WriteStub):
                self._secrets.forget(action.key)
        self._remember(written)
        self._record(action, written)

    async def _apply(self, action: Action) -> Object | None:
        version = ""
        if isinstance(action, SaveHistory):
            known = self._histories.get(action.key)
            version = known.metadata.resource_version if known else ""
        return await apply.apply(action, self._kube, self._resource, resource_version=version)

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

    def _failed(self, lane: Hashable, error: kube.KubeError) -> None:
        before = self._failures.get(lane)
        self._failures[lane] = FailedWrite(
            message=str(error),
            refused=not isinstance(error, kube.Transient),
            attempts=(before.attempts if before else 0) + 1,
            failed_at=self._clock.now(),
        )
        log.warning("write failed", lane=str(lane), error=str(error))

    def _record(self, action: Action, written: Object | None) -> None:
        match action:
            case WriteStub() | MarkTemplate() | DeleteTemplate():
                self._failures.pop(action.lane, None)
            case PatchMachineSet(lane=lane, because=because) if written is not None:
                self._failures.pop(lane, None)
                self._event(written, BootImageEventReason.UPDATED, because, Severity.NORMAL)
            case ReportMachineSet(lane=("set", _, Key() as key), status=status) if (
                status.state == MachineSetState.FAILED
            ):
                found = self._machine_sets[key.namespace].get(key)
                if found is not None:
                    self._event(found, Why(status.reason), status.message, Severity.WARNING)
            case _:
                pass

    def _event(self, regarding: Object, reason: StrEnum, note: str, severity: Severity) -> None:
        self._recorder.record(
            event_series.reference(self._resource, regarding),
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
    """What of a node can prove a release or name an architecture; a heartbeat cannot."""
    if node is None:
        return None
    ready = [one.status for one in node.status.conditions if one.type == "Ready"]
    info = node.status.node_info
    label = node.metadata.labels.get(OS_RELEASE_LABEL)
    return tuple(ready), info.os_image, info.architecture, label
