"""Wires the reconciler of the Setting, the list, the DaemonSet and its pods."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from lading.api.apps import DAEMON_SETS, DaemonSet
from lading.api.core import NODES, PODS, Node, Pod
from lading.api.longhorn import IMAGES, SETTING_NAME, SETTINGS, Image, Setting
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, earliest
from lading.loop import event_series, pipeline
from lading.loop.controller import Controller, own_key
from lading.loop.event_series import Severity
from lading.loop.informer import Informer, Informers
from lading.loop.read_your_writes import ReadYourWrites
from lading.loop.recorder import EventRecorder
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube, Selection
from lading.prepull import apply, holder, observe, plan, rules
from lading.prepull.fleet import HolderFleet
from lading.prepull.holding_facts import HoldingFacts
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.metrics import PrePullMetrics
from lading.prepull.nodes import ExpectedDaemonSet
from lading.prepull.periods import PrePullPeriods
from lading.prepull.report import ObservedImage
from lading.prepull.types import (
    Action,
    CreateDaemonSet,
    CreateSetting,
    DeleteDaemonSet,
    DeletePod,
    Fault,
    ObservedPrePull,
    PodDeletion,
    PrePullEventReason,
    PrePullSettings,
    RemoveGate,
    ReplaceDaemonSet,
)

KEY = Key("", "prepull")
DAEMON_SET, STATUS = "prepull-daemon-set", "prepull-images"
EVENT_ACTION = "HoldImages"


class PrePullCaches(msgspec.Struct, frozen=True, kw_only=True):
    images: Informer[Image]
    settings: Informer[Setting]
    daemon_sets: Informer[DaemonSet]
    pods: Informer[Pod]
    nodes: Informer[Node]

    @classmethod
    def of(cls, informers: Informers, namespace: str) -> "PrePullCaches":
        def named(name: str) -> Selection:
            return Selection(namespace=namespace, field_selector=f"metadata.name={name}")

        return cls(
            images=informers.of(IMAGES, Selection(namespace=namespace)),
            settings=informers.of(SETTINGS, named(SETTING_NAME)),
            daemon_sets=informers.of(DAEMON_SETS, named(holder.NAME)),
            pods=informers.of(
                PODS, Selection(namespace=namespace, label_selector=holder.HOLDER_SELECTOR)
            ),
            nodes=informers.of(NODES),
        )


class HolderReconciler:
    """One pipeline over the Setting, the list, the DaemonSet and its pods."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        caches: PrePullCaches,
        fleet: HolderFleet,
        image_lists: NodeImageLists,
        settings: PrePullSettings,
        namespace: str,
        gate_is_on: bool,
        recorder: EventRecorder,
        metrics: PrePullMetrics,
        facts_changed: Callable[[], None],
    ) -> None:
        """`facts_changed` is called when something changed that no cache shows."""
        self._kube = kube
        self._clock = clock
        self._caches = caches
        self._facts_changed = facts_changed
        self._fleet = fleet
        self._image_lists = image_lists
        self._settings = settings
        self._periods = settings.periods
        self._namespace = namespace
        self._gate_is_on = gate_is_on
        self._recorder = recorder
        self._metrics = metrics
        self._images = ReadYourWrites(caches.images, clock)
        self._setting = ReadYourWrites(caches.settings, clock)
        self._daemon_set = ReadYourWrites(caches.daemon_sets, clock)
        self._setting_refusal = ""
        self._setting_refused_at: datetime | None = None
        self._refusal = ""
        self._hold_image = ""
        self._holding = HoldingFacts(kube, settings, namespace)
        self._is_observed = False
        self._answered: Mapping[str, Any] | None = None
        self._changed_since: datetime | None = None
        self._changed_at: datetime | None = None
        self._deletions: dict[str, PodDeletion] = {}
        self._creation_failure: Fault | None = None
        self._failure_read_at: datetime | None = None
        self._missing_secrets: tuple[str, ...] = ()
        self._secrets_read_at: datetime | None = None
        caches.images.add_handler(self._image_changed)
        caches.daemon_sets.add_handler(self._daemon_set_changed)

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> ObservedPrePull:
        await self._fleet.recount()
        await self._read_creation_failure()
        await self._read_missing_secrets()
        self._expect(self._caches.daemon_sets.get(Key(self._namespace, holder.NAME)))
        await self._fleet.recount()
        hold_image = self._hold_image
        if not self._hold_image:
            self._hold_image = await observe.hold_image(self._kube, self._settings, self._namespace)
        holding = self._holding.reported
        observed = await self._holding.observe(self.observed(), self._clock.now())
        changed = hold_image != self._hold_image or holding != self._holding.reported
        if not self._is_observed or changed:
            self._is_observed = True
            self._facts_changed()
        return observed

    def observed(self) -> ObservedPrePull:
        """From the caches and what this process knows."""
        return ObservedPrePull(
            namespace=self._namespace,
            images=tuple(self._images),
            setting=self._setting.get(Key(self._namespace, SETTING_NAME)),
            setting_refusal=self._refusal_of_setting(),
            daemon_set=self._daemon_set.get(Key(self._namespace, holder.NAME)),
            answered_spec=self._answered,
            changed_since=self._changed_since,
            changed_at=self._changed_at,
            hold_image=self._hold_image,
            gate_is_on=self._gate_is_on,
            roll_out=self._fleet.roll_out(),
            deletions=dict(self._deletions),
        )

    def plan(self, observed: ObservedPrePull, now: datetime) -> Plan:
        found = plan.plan(observed, self._settings, now)
        if not any(isinstance(one, CreateDaemonSet | ReplaceDaemonSet) for one in found.actions):
            self._refuse("")  # what was refused is no longer wanted
        refused_at = self._setting_refused_at
        retry_at = refused_at and refused_at + self._periods.setting_retry_interval
        missing = self._fleet.lacks_pods() and plan.is_ours(observed.daemon_set)
        look_at = now + self._periods.missing_pods_interval if missing else None
        key_at = now + self._periods.missing_pods_interval if observed.key_unreadable else None
        return Plan(
            actions=found.actions,
            recheck_at=earliest(
                found.recheck_at, retry_at, look_at, key_at, self._list_images(now)
            ),
        )

    def _list_images(self, now: datetime) -> datetime | None:
        """The lists of kubelets are wanted when an agent has been missed for a while."""
        since = self._fleet.agents_missed_since()
        if since is None or self._image_lists.is_wanted:
            return None
        due_at = since + self._periods.agent_grace
        if due_at > now:
            return due_at
        self._image_lists.want()
        return None

    async def apply(self, action: Action) -> None:
        if isinstance(action, CreateSetting):
            await self._create_setting(action)
            return
        try:
            with pipeline.precondition(type(action).__name__):
                written = await apply.apply(action, self._kube)
        except (kube.Forbidden, kube.Invalid) as error:
            is_about_holding = self._holding.refused(action, str(error))
            if isinstance(action, CreateDaemonSet | ReplaceDaemonSet) and not is_about_holding:
                self._refuse(str(error))
            if is_about_holding:
                self._facts_changed()
            raise
        self._applied(action, written)

    def image_facts(self, image: Image) -> ObservedImage | None:
        """What the status of an Image goes by; None before this process observed the rest."""
        if not self._is_observed:
            return None
        observed = self.observed_without_nodes()
        cargo = rules.cargo(observed.images, self._settings.images)
        enabled = plan.enablement(observed, self._settings)
        problem = cargo.problems.get(image.metadata.name)
        container = "" if problem else rules.container_of(image)
        return ObservedImage(
            image=image,
            enablement=enabled,
            holding=self._holding.holding,
            container=container,
            problem=problem
            or plan.daemon_set_problem(
                observed.daemon_set,
                self._hold_image,
                self._refusal,
                self._holding.key_problem,
                self._namespace,
            ),
            nodes=self._fleet.records,
            owner_id=self._settings.node_name,
        )

    def observed_without_nodes(self) -> ObservedPrePull:
        return ObservedPrePull(
            namespace=self._namespace,
            images=tuple(self._caches.images),
            setting=self._setting.get(Key(self._namespace, SETTING_NAME)),
            setting_refusal=self._setting_refusal,
            daemon_set=self._daemon_set.get(Key(self._namespace, holder.NAME)),
            gate_is_on=self._gate_is_on,
        )

    async def _create_setting(self, action: CreateSetting) -> None:
        """A webhook that does not know the Setting refuses it; then the option decides."""
        try:
            written = await apply.apply(action, self._kube)
        except (kube.Forbidden, kube.Invalid) as error:
            self._setting_refusal = str(error)
            self._setting_refused_at = self._clock.now()
            self._facts_changed()
            return
        self._setting_refusal, self._setting_refused_at = "", None
        if isinstance(written, Setting):
            self._setting.add(written)

    def _refusal_of_setting(self) -> str:
        """After a while it is tried again."""
        at = self._setting_refused_at
        if at is None or self._clock.now() - at >= self._periods.setting_retry_interval:
            return ""
        return self._setting_refusal

    async def _read_creation_failure(self) -> None:
        now = self._clock.now()
        if not self._fleet.without_pod():
            self._creation_failure = None
        elif self._events_are_due(self._failure_read_at, now):
            self._failure_read_at = now
            self._creation_failure = await observe.creation_failure(self._kube, self._namespace)

    async def _read_missing_secrets(self) -> None:
        """The kubelet reports a missing secret before it pulls, so what there is, is there now."""
        now = self._clock.now()
        if not self._settings.pull_secrets or not self._fleet.is_unauthorized():
            self._missing_secrets = ()
        elif self._events_are_due(self._secrets_read_at, now):
            self._secrets_read_at = now
            self._missing_secrets = await observe.missing_pull_secrets(
                self._kube, self._settings.pull_secrets, self._namespace
            )

    def _events_are_due(self, read_at: datetime | None, now: datetime) -> bool:
        return read_at is None or now - read_at >= self._periods.missing_pods_interval

    def _expect(self, found: DaemonSet | None) -> None:
        if found is None or not plan.is_ours(found):
            self._fleet.expect(ExpectedDaemonSet())
            return
        self._fleet.expect(
            ExpectedDaemonSet(
                uid=found.metadata.uid,
                template=found.metadata.annotations.get(holder.TEMPLATE_ANNOTATION, ""),
                containers=plan.containers(found),
                creation_failure=self._creation_failure,
                missing_secrets=self._missing_secrets,
            )
        )

    def _refuse(self, message: str) -> None:
        if message != self._refusal:
            self._refusal = message
            self._facts_changed()

    def _applied(self, action: Action, written: object) -> None:
        self._holding.applied(action, written)
        if isinstance(action, CreateDaemonSet | ReplaceDaemonSet):
            self._refuse("")
            self._answered = written.spec if isinstance(written, DaemonSet) else None
        if isinstance(action, DeleteDaemonSet):
            self._answered = None
        if isinstance(written, DaemonSet):
            self._daemon_set.add(written)
        if isinstance(written, Image):
            self._images.add(written)
        if isinstance(action, RemoveGate):
            self._fleet.release(action.uid, action.node)
        if isinstance(action, DeletePod):
            self._deleted(action)

    def _deleted(self, action: DeletePod) -> None:
        now = self._clock.now()
        before = self._deletions.get(action.node)
        is_recent = before is not None and now - before.last_at < self._periods.deletion_memory
        count = before.count + 1 if before is not None and is_recent else 1
        self._deletions[action.node] = PodDeletion(count=count, last_at=now)
        self._metrics.pods_deleted.inc()
        lost = set(action.containers)
        for image in self._caches.images:
            if rules.container_of(image) in lost:
                self._recorder.record(
                    event_series.reference(IMAGES, image),
                    reason=PrePullEventReason.IMAGE_LOST,
                    action=EVENT_ACTION,
                    note=f"The image was removed from node {action.node} and is pulled again.",
                    severity=Severity.WARNING,
                )

    def _image_changed(self, old: Image | None, new: Image | None) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return
        now = self._clock.now()
        if self._changed_at is None or now - self._changed_at > self._settings.quiet_max:
            self._changed_since = now
        self._changed_at = now

    def _daemon_set_changed(self, old: DaemonSet | None, new: DaemonSet | None) -> None:
        self._expect(new)


def watch(
    controllers: Mapping[str, Controller],
    caches: PrePullCaches,
    fleet: HolderFleet,
    periods: PrePullPeriods,
) -> None:
    """The DaemonSet follows what changes; statuses, a moment after the first change."""
    daemon_set, status = controllers[DAEMON_SET], controllers[STATUS]
    roll_out, count = periods.roll_out_debounce_seconds, periods.count_debounce_seconds

    def pass_key(old: object, new: object) -> Iterable[Key]:
        return (KEY,)

    def every_image(old: object, new: object) -> Iterable[Key]:
        return tuple(caches.images.known_keys())

    def others(old: Image | None, new: Image | None) -> Iterable[Key]:
        """Which Images are held may change with each that comes or goes."""
        is_another = old is None or new is None or old.spec != new.spec
        return every_image(old, new) if is_another else ()

    daemon_set.watch(caches.images, pass_key)
    daemon_set.watch(caches.settings, pass_key)
    daemon_set.watch(caches.daemon_sets, pass_key)
    status.watch(caches.images, own_key)
    status.watch(caches.images, others, debounce_seconds=count)
    status.watch(caches.settings, every_image)
    status.watch(caches.daemon_sets, every_image, debounce_seconds=roll_out)
    fleet.listen(lambda: daemon_set.wake(KEY, debounce_seconds=roll_out))
    fleet.listen(lambda: status.wake(*caches.images.known_keys(), debounce_seconds=count))
    daemon_set.wake(KEY)
