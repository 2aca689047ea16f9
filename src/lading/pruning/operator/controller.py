"""Wires the reconciler of the ImagePruner."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from lading.api.core import CONFIG_MAPS, CRON_JOBS, JOBS, PODS, ConfigMap, CronJob, Job, Pod
from lading.api.imageregistry import (
    IMAGE_PRUNERS,
    NAME,
    ImageRegistryConfig,
    StoredImagePruner,
)
from lading.api.openshift_config import ClusterVersion
from lading.api.rbac import (
    CLUSTER_ROLE_BINDINGS,
    SERVICE_ACCOUNTS,
    ClusterRoleBinding,
    ServiceAccount,
)
from lading.kernel.objects import Key, Object
from lading.kernel.planning import Plan, RecordEvent
from lading.loop import own_facts, pipeline
from lading.loop.controller import Controller
from lading.loop.informer import Informer, Informers, OptionalInformer
from lading.loop.own_facts import ReadOnce, WriteLog
from lading.loop.reconciler import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection
from lading.pruning.operator import apply, objects, observe, plan
from lading.pruning.operator.types import (
    OBJECT_NAME,
    OPENSHIFT_ROLE,
    REPORT_NAME,
    SYSTEM_ROLE,
    ClusterHistory,
    ObjectWrite,
    ObservedPruner,
    PrunerAction,
    PrunerFacts,
    PrunerSettings,
    written_body,
    written_name,
)

KEY = Key("", NAME)
CONTROLLER = "image-pruner"
EVENT_ACTION = "PruneImages"
BINDINGS = tuple(map(objects.binding_name, (OBJECT_NAME, SYSTEM_ROLE, OPENSHIFT_ROLE)))


class PrunerCaches(msgspec.Struct, frozen=True, kw_only=True):
    pruners: Informer[StoredImagePruner]
    cron_jobs: Informer[CronJob]
    jobs: Informer[Job]
    pods: Informer[Pod]
    accounts: Informer[ServiceAccount]
    bindings: Mapping[str, Informer[ClusterRoleBinding]]
    report_maps: Informer[ConfigMap]

    @classmethod
    def of(cls, informers: Informers, namespace: str) -> "PrunerCaches":
        def named(name: str, namespace: str = "") -> Selection:
            return Selection(namespace=namespace, field_selector=f"metadata.name={name}")

        labelled = Selection(namespace=namespace, label_selector=objects.SELECTOR)
        return cls(
            pruners=informers.of(IMAGE_PRUNERS, named(NAME)),
            cron_jobs=informers.of(CRON_JOBS, named(OBJECT_NAME, namespace)),
            jobs=informers.of(JOBS, labelled),
            pods=informers.of(PODS, labelled),
            accounts=informers.of(SERVICE_ACCOUNTS, named(OBJECT_NAME, namespace)),
            bindings={name: informers.of(CLUSTER_ROLE_BINDINGS, named(name)) for name in BINDINGS},
            report_maps=informers.of(CONFIG_MAPS, named(REPORT_NAME, namespace)),
        )


class ImagePrunerReconciler:
    """One pipeline over the ImagePruner, its objects and its status."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        caches: PrunerCaches,
        configs: OptionalInformer[ImageRegistryConfig],
        cluster_versions: OptionalInformer[ClusterVersion],
        settings: PrunerSettings,
        namespace: str,
        recorder: EventRecorder,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._caches = caches
        self._configs = configs
        self._cluster_versions = cluster_versions
        self._settings = settings
        self._namespace = namespace
        self._recorder = recorder
        self._pruners = ReadYourWrites(caches.pruners, clock)
        self._cron_jobs = ReadYourWrites(caches.cron_jobs, clock)
        self._accounts = ReadYourWrites(caches.accounts, clock)
        self._report_maps = ReadYourWrites(caches.report_maps, clock)
        self._bindings = {
            name: ReadYourWrites(cache, clock) for name, cache in caches.bindings.items()
        }
        self._writes = WriteLog(clock)
        self._own_image = ReadOnce(
            lambda: own_facts.own_image(
                kube, option=settings.image, pod_name=settings.pod_name, namespace=namespace
            )
        )
        self._decision = ReadOnce(lambda: observe.decision(kube, namespace))
        self.facts: PrunerFacts | None = None
        """The values of the metrics; None if this process has not led."""

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock, record=self._record)

    async def observe(self, key: Key) -> ObservedPruner:
        pruner = self._pruners.get(KEY)
        version = await self._cluster_versions.get("version")
        config = await self._configs.get(NAME)
        decision = await self._decision.get()
        history = ClusterHistory()
        if decision is None and pruner is None:
            history = await observe.history(self._kube, self._namespace, version)
        own = Key(self._namespace, OBJECT_NAME)
        report_map = self._report_maps.get(Key(self._namespace, REPORT_NAME))
        bindings = {name: one.get(Key("", name)) for name, one in self._bindings.items()}
        return ObservedPruner(
            namespace=self._namespace,
            pruner=pruner,
            decision=decision,
            history=history,
            is_openshift=version is not None,
            drops_status=await observe.kind_is_foreign(self._kube),
            management_state=config.spec.management_state if config is not None else None,
            account=self._accounts.get(own),
            bindings={name: one for name, one in bindings.items() if one is not None},
            cron_job=self._cron_jobs.get(own),
            jobs=tuple(self._caches.jobs),
            pods=tuple(self._caches.pods),
            reports=observe.reports(pruner, report_map),
            has_report_map=report_map is not None,
            own_image=await self._own_image.get() or "",
            writes=self._writes.all(),
        )

    def plan(self, observed: ObservedPruner, now: datetime) -> Plan:
        found = plan.plan(observed, self._settings, now)
        self.facts = found.facts
        return found.plan

    async def apply(self, action: PrunerAction) -> None:
        with pipeline.precondition(type(action).__name__):
            write = apply.apply(action, self._kube)
            if isinstance(action, ObjectWrite):
                write = self._writes.record(written_name(action), written_body(action), write)
            self._remember(await write)

    def _remember(self, written: Object | None) -> None:
        match written:
            case CronJob():
                self._cron_jobs.add(written)
            case StoredImagePruner():
                self._pruners.add(written)
            case ServiceAccount():
                self._accounts.add(written)
            case ClusterRoleBinding():
                self._bindings[written.metadata.name].add(written)
            case ConfigMap() if written.metadata.name == REPORT_NAME:
                self._report_maps.add(written)
            case _:
                return

    def _record(self, key: Key, event: RecordEvent) -> None:
        pruner = self._pruners.get(KEY)
        if pruner is not None:
            self._recorder.record_planned(IMAGE_PRUNERS, pruner, event, action=EVENT_ACTION)


def watch(
    controller: Controller,
    caches: PrunerCaches,
    configs: OptionalInformer[ImageRegistryConfig],
    cluster_versions: OptionalInformer[ClusterVersion],
) -> None:
    def the_key(old: object, new: object) -> Iterable[Key]:
        return (KEY,)

    controller.watch(caches.pruners, the_key)
    controller.watch(caches.cron_jobs, the_key)
    controller.watch(caches.accounts, the_key)
    controller.watch(caches.report_maps, the_key)
    for bindings in caches.bindings.values():
        controller.watch(bindings, the_key)
    controller.watch(caches.jobs, the_key, debounce_seconds=0.3)
    controller.watch(caches.pods, the_key, debounce_seconds=0.3)
    configs.add_handler(lambda old, new: controller.wake(KEY))
    cluster_versions.add_handler(lambda old, new: controller.wake(KEY))
    controller.wake(KEY)
