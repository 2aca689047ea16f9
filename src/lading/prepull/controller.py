"""Wires the reconcilers of the DaemonSet and of the statuses of Images."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from lading.api.core import DaemonSet
from lading.api.longhorn import IMAGES, Image, ImageState
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, RecordEvent
from lading.loop import pipeline
from lading.loop.controller import Controller, own_key
from lading.loop.own_facts import WriteLog
from lading.loop.reconciler import ObjectReconciler
from lading.loop.recorder import EventRecorder
from lading.ports import kube
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.prepull import apply, plan, rules, status
from lading.prepull.actions import (
    Action,
    CreateDaemonSet,
    CreateSetting,
    DeletePod,
    EnsureHoldKey,
    RemoveGate,
    ReplaceDaemonSet,
    WatchImageLists,
    WriteImageStatus,
)
from lading.prepull.fleet import HolderFleet
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.metrics import PrePullMetrics
from lading.prepull.observe import PrePullCaches, PrePullFacts
from lading.prepull.status import ObservedImage
from lading.prepull.types import (
    KEY_WRITE,
    SETTING_WRITE,
    ObservedPrePull,
    PrePullEventReason,
    PrePullPeriods,
    PrePullSettings,
)

KEY = Key("", "prepull")
DAEMON_SET, STATUS = "prepull-daemon-set", "prepull-images"
EVENT_ACTION = "HoldImages"


class HolderReconciler:
    """Reconciles the Setting, the list, the DaemonSet and its pods."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        facts: PrePullFacts,
        writes: WriteLog,
        fleet: HolderFleet,
        image_lists: NodeImageLists,
        settings: PrePullSettings,
        recorder: EventRecorder,
        metrics: PrePullMetrics,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._facts = facts
        self._writes = writes
        self._fleet = fleet
        self._image_lists = image_lists
        self._settings = settings
        self._recorder = recorder
        self._metrics = metrics

    async def reconcile(self, key: Key) -> datetime | None:
        return await pipeline.reconcile(self, key, self._clock)

    async def observe(self, key: Key) -> ObservedPrePull:
        return await self._facts.observe()

    def plan(self, observed: ObservedPrePull, now: datetime) -> Plan:
        return plan.plan(observed, self._settings, now)

    async def apply(self, action: Action) -> None:
        if isinstance(action, WatchImageLists):
            self._image_lists.want()
            return
        with pipeline.precondition(type(action).__name__):
            write = apply.apply(action, self._kube)
            match action:
                case CreateSetting():
                    try:
                        written = await self._writes.record(SETTING_WRITE, None, write)
                    except (kube.Forbidden, kube.Invalid):
                        return  # the option decides, and it is tried again later
                case EnsureHoldKey():
                    written = await self._writes.record(KEY_WRITE, None, write)
                case CreateDaemonSet(body=body) | ReplaceDaemonSet(body=body):
                    written = await self._writes.record(plan.write_name(body), body, write)
                case _:
                    written = await write
        match written:
            case DaemonSet():
                self._facts.daemon_sets.add(written)
            case Image():
                self._facts.images.add(written)
        if isinstance(action, RemoveGate):
            self._fleet.gate_removed(action.uid, action.node)
        if isinstance(action, DeletePod):
            self._deleted(action)

    def _deleted(self, action: DeletePod) -> None:
        self._fleet.pod_deleted(action.node)
        self._metrics.pods_deleted.inc()
        event = RecordEvent(
            reason=PrePullEventReason.IMAGE_LOST,
            because=f"The image was removed from node {action.node} and is pulled again.",
            warning=True,
        )
        for image in self._facts.images:
            if rules.container_of(image) in action.containers:
                self._recorder.record_planned(IMAGES, image, event, action=EVENT_ACTION)


class ImageReconciler(ObjectReconciler[Image, ObservedImage | None]):
    """Writes the status of Images."""

    event_action = EVENT_ACTION

    def __init__(
        self,
        *,
        caches: PrePullCaches,
        facts: PrePullFacts,
        fleet: HolderFleet,
        kube: Kube,
        clock: Clock,
        recorder: EventRecorder,
        settings: PrePullSettings,
    ) -> None:
        super().__init__(informer=caches.images, clock=clock, recorder=recorder)
        self._facts = facts
        self._fleet = fleet
        self._kube = kube
        self._settings = settings
        self._states: dict[Key, tuple[int, frozenset[ImageState]]] = {}
        """The states that were written, and for which generation."""

    async def observe(self, key: Key) -> ObservedImage | None:
        prepull = await self._facts.observe()
        creation_failure = await self._facts.creation_failure()
        missing_secrets = await self._facts.missing_secrets()
        image = self._objects.get(key)
        if image is None or image.metadata.deletion_timestamp:
            return None
        generation, states = self._states.get(key) or _reported(image)
        is_same = generation == image.metadata.generation
        return ObservedImage(
            image=image,
            prepull=prepull,
            nodes=self._fleet.records,
            creation_failure=creation_failure,
            missing_secrets=missing_secrets,
            status_at=self.status_at(key),
            states_written=states if is_same else frozenset(),
        )

    def plan(self, observed: ObservedImage | None, now: datetime) -> Plan:
        return status.plan(observed, self._settings, now) if observed else Plan()

    async def apply(self, action: WriteImageStatus) -> None:
        with pipeline.precondition(type(action).__name__):
            written = await apply.apply(action, self._kube)
        assert isinstance(written, Image)
        before = self._objects.get(action.key) or written
        generation, states = self._states.get(action.key) or _reported(before)
        state = ImageState(action.status.state)
        # After pre-pulling was off, each state counts as reached for the first time.
        is_same = generation == written.metadata.generation and state is not ImageState.UNKNOWN
        self._states[action.key] = (
            written.metadata.generation,
            (states if is_same else frozenset()) | {state},
        )
        self._objects.add(written)
        self.status_written(action.key)

    def _forget(self, old: Image | None, new: Image | None) -> None:
        super()._forget(old, new)
        if new is None and old is not None:
            self._states.pop(old.key, None)


def _reported(image: Image) -> tuple[int, frozenset[ImageState]]:
    """The state that an earlier process wrote."""
    states = frozenset(one for one in ImageState if one == image.status.state)
    return image.status.observed_generation, states


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
