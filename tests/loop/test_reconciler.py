"""The base of reconcilers: keys have a namespace, and what is remembered goes with its object."""

import random
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec
import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, EVENTS, ConfigMap
from lading.kernel.objects import Key
from lading.kernel.planning import Plan, RecordEvent
from lading.loop import tasks
from lading.loop.informer import Informer
from lading.loop.reconciler import ObjectReconciler
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports.kube import Selection
from tests.loop import build


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    key: Key
    because: str = "it is one more"
    lane: str = "data"


class Happening(StrEnum):
    COUNTED = "Counted"
    LOST = "Lost"


class Counter(ObjectReconciler[ConfigMap, ConfigMap | None]):
    """Counts, in each object, how often it was reconciled."""

    event_action = "Count"

    def __init__(
        self,
        kube: KubeClient,
        informer: Informer[ConfigMap],
        clock: VirtualClock,
        recorder: EventRecorder,
    ) -> None:
        super().__init__(informer=informer, clock=clock, recorder=recorder)
        self._kube = kube

    async def observe(self, key: Key) -> ConfigMap | None:
        return self._objects.get(key)

    def plan(self, observed: ConfigMap | None, now: datetime) -> Plan:
        if observed is None:
            return Plan()
        event = RecordEvent(reason=Happening.COUNTED, because="one more")
        return Plan(actions=(Count(key=observed.key), event))

    async def apply(self, action: Count) -> None:
        key, found = action.key, self._objects.get(action.key)
        assert found is not None
        patch = {"data": {"count": str(int(found.data["count"]) + 1)}}
        written = await self._kube.patch(CONFIG_MAPS, key.name, patch, namespace=key.namespace)
        self._objects.add(written)
        self.status_written(key)


@pytest.fixture
async def recorder(
    kube: KubeClient, clock: VirtualClock, rng: random.Random, metrics: Metrics
) -> EventRecorder:
    return EventRecorder(
        kube=kube, clock=clock, rng=rng, metrics=metrics, controller="test", instance="test"
    )


async def put(kube: KubeClient, informer: Informer[ConfigMap], namespace: str) -> Key:
    body = {**build.config_map("one", count="0"), "metadata": {"name": "one"}}
    made = await kube.create(CONFIG_MAPS, body, namespace=namespace)
    informer.put(made)
    return made.key


async def test_objects_of_one_name_in_two_namespaces_are_two(
    kube: KubeClient, clock: VirtualClock, recorder: EventRecorder
) -> None:
    informer = Informer(CONFIG_MAPS)
    reconciler = Counter(kube, informer, clock, recorder)
    first = await put(kube, informer, "images")
    second = await put(kube, informer, "lading")
    for key in (first, first, first, second):
        await reconciler.reconcile(key)
    counts = [
        (await kube.get(CONFIG_MAPS, key.name, namespace=key.namespace)).data["count"]
        for key in (first, second)
    ]
    assert counts == ["3", "1"], "each reconcile sees what the one before it wrote"


async def test_what_is_remembered_goes_with_its_object(
    kube: KubeClient, clock: VirtualClock, recorder: EventRecorder
) -> None:
    informer = Informer(CONFIG_MAPS)
    reconciler = Counter(kube, informer, clock, recorder)
    key = await put(kube, informer, "images")
    await reconciler.reconcile(key)
    informer.remove(key)
    assert reconciler.status_at(key) is None
    assert await reconciler.observe(key) is None


async def test_an_event_is_about_the_object_and_none_is_recorded_for_one_that_is_gone(
    kube: KubeClient, clock: VirtualClock, recorder: EventRecorder
) -> None:
    informer = Informer(CONFIG_MAPS)
    reconciler = Counter(kube, informer, clock, recorder)
    key = await put(kube, informer, "images")
    lost = RecordEvent(reason=Happening.LOST, because="gone", warning=True)
    reconciler.record(Key("images", "gone"), lost)
    async with tasks.started(recorder.run()):
        await reconciler.reconcile(key)
        await clock.advance(1)
    (event,) = (await kube.page(EVENTS, Selection(namespace="images"))).items
    regarding = msgspec.to_builtins(event)["regarding"]
    assert (event.reason, regarding["kind"], regarding["name"]) == ("Counted", "ConfigMap", "one")
