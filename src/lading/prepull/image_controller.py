"""Wires the reconciler that writes the status of Images."""

from datetime import datetime

from lading.api.longhorn import Image, ImageState
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.kernel.values import replace
from lading.loop import pipeline
from lading.loop.reconciler import ObjectReconciler
from lading.loop.recorder import EventRecorder
from lading.ports.clock import Clock
from lading.ports.kube import Kube
from lading.prepull import apply, report
from lading.prepull.controller import EVENT_ACTION, HolderReconciler, PrePullCaches
from lading.prepull.fleet import HolderFleet
from lading.prepull.periods import PrePullPeriods
from lading.prepull.report import ObservedImage, RecordImageEvent, WriteImageStatus


class ImageReconciler(ObjectReconciler[Image, ObservedImage | None]):
    """Writes the status of Images."""

    def __init__(
        self,
        *,
        caches: PrePullCaches,
        fleet: HolderFleet,
        daemon_set: HolderReconciler,
        kube: Kube,
        clock: Clock,
        recorder: EventRecorder,
        periods: PrePullPeriods,
    ) -> None:
        super().__init__(informer=caches.images, clock=clock, recorder=recorder)
        self._fleet = fleet
        self._daemon_set = daemon_set
        self._kube = kube
        self._periods = periods
        self._states: dict[Key, tuple[int, frozenset[ImageState]]] = {}

    async def observe(self, key: Key) -> ObservedImage | None:
        await self._fleet.recount()
        image = self._objects.get(key)
        if image is None or image.metadata.deletion_timestamp:
            self._states.pop(key, None)
            return None
        generation, states = self._states.setdefault(key, _reported(image))
        facts = self._daemon_set.image_facts(image)
        if facts is None:
            return None
        is_same = generation == image.metadata.generation
        return replace(
            facts,
            writes=self.status_writes(key),
            states_written=states if is_same else frozenset(),
        )

    def plan(self, observed: ObservedImage | None, now: datetime) -> Plan:
        return report.plan(observed, now, periods=self._periods) if observed else Plan()

    async def apply(self, action: WriteImageStatus | RecordImageEvent) -> None:
        if isinstance(action, RecordImageEvent):
            self.record(
                action.key,
                reason=action.reason,
                action=EVENT_ACTION,
                note=action.because,
                warning=action.warning,
            )
            return
        with pipeline.precondition(type(action).__name__):
            written = await apply.apply(action, self._kube)
        assert isinstance(written, Image)
        self._objects.add(written)
        self.status_written(action.key)
        self._remember_state(action)

    def _remember_state(self, action: WriteImageStatus) -> None:
        """Turned off, everything begins anew."""
        state, generation = ImageState(action.status.state), action.status.observed_generation
        before, states = self._states.get(action.key, (0, frozenset()))
        is_same = before == generation and state is not ImageState.UNKNOWN
        self._states[action.key] = (generation, (states if is_same else frozenset()) | {state})


def _reported(image: Image) -> tuple[int, frozenset[ImageState]]:
    """The state that another process wrote before this one."""
    states = frozenset(one for one in ImageState if one == image.status.state)
    return image.status.observed_generation, states
