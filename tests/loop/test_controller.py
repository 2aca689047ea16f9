"""Controllers: events become few reconciles; a failing key delays no other."""

import asyncio
import itertools
import random
from collections import Counter
from datetime import datetime, timedelta

import pytest

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, ConfigMap
from lading.kernel.objects import Key
from lading.loop import controller, tasks
from lading.loop.controller import Controller, Reconcile
from lading.loop.informer import Informers
from lading.loop.pipeline import PreconditionFailed
from lading.observability.metrics import Metrics
from lading.ports import cri, kube
from tests.loop import build

KEYS = 100


@pytest.fixture
def made(clock: VirtualClock, rng: random.Random, metrics: Metrics) -> "Maker":
    return Maker(clock, rng, metrics)


class Maker:
    def __init__(self, clock: VirtualClock, rng: random.Random, metrics: Metrics) -> None:
        self._parts = {"clock": clock, "rng": rng, "metrics": metrics}
        self._metrics = metrics

    def controller(self, reconcile: Reconcile) -> Controller:
        return Controller(name="test", reconcile=reconcile, **self._parts)  # type: ignore[arg-type]

    def reconciles(self, outcome: str) -> float | None:
        labels = {"controller": "test", "outcome": outcome}
        return self._metrics.registry.get_sample_value("lading_reconciles_total", labels)


async def test_a_burst_of_2000_events_on_10_objects_costs_tens_of_reconciles(
    made: Maker, informers: Informers, clock: VirtualClock, kube: KubeClient
) -> None:
    active: Counter[Key] = Counter()
    reconciles = 0
    config_maps = informers.of(CONFIG_MAPS)
    last_seen: dict[Key, str] = {}

    async def reconcile(key: Key) -> None:
        nonlocal reconciles
        reconciles += 1
        active[key] += 1
        assert active[key] == 1, "worked on twice at once"
        found = config_maps.get(key)
        last_seen[key] = found.data.get("value", "") if found else "gone"
        await clock.sleep(0.05)
        active[key] -= 1

    events = 0
    subject = made.controller(reconcile)
    subject.watch(config_maps, controller.own_key)
    async with tasks.started(informers.run()), tasks.started(subject.run()):
        for number in range(10):
            await build.create(kube, f"map-{number}")
        for number in range(1990):
            await build.change(kube, f"map-{number % 10}", value=str(number))
            events += 1
            if number % 20 == 0:
                await clock.advance(0.002)
        await clock.advance(60)
    assert events + 10 == 2000
    assert 10 <= reconciles < 100
    assert last_seen == {build.key(f"map-{n}"): str(1980 + n) for n in range(10)}


async def test_a_recheck_runs_the_key_again_at_its_time(made: Maker, clock: VirtualClock) -> None:
    runs: list[datetime] = []

    async def reconcile(_: Key) -> datetime | None:
        runs.append(clock.now())
        return clock.now() + timedelta(minutes=5) if len(runs) < 3 else None

    subject = made.controller(reconcile)
    async with tasks.started(subject.run()):
        subject.wake(build.key("a"))
        await clock.advance(3600)
    assert [(run - runs[0]).total_seconds() for run in runs] == [0, 300, 600]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (kube.Unavailable("the API server restarts"), "transient"),
        (cri.Unavailable("the runtime restarts"), "transient"),
        (PreconditionFailed("the pool changed"), "replan"),
        (ExceptionGroup("lanes", [PreconditionFailed("a"), PreconditionFailed("b")]), "replan"),
        (ExceptionGroup("lanes", [PreconditionFailed("a"), kube.Unavailable("b")]), "transient"),
        (ExceptionGroup("lanes", [PreconditionFailed("a"), KeyError("b")]), "error"),
        (KeyError("a bug"), "error"),
    ],
    ids=str,
)
async def test_a_failure_is_counted_and_only_its_key_is_tried_again(
    error: Exception, outcome: str, made: Maker, clock: VirtualClock
) -> None:
    runs: Counter[str] = Counter()

    async def reconcile(key: Key) -> None:
        runs[key.name] += 1
        if key.name == "bad" and runs["bad"] < 4:
            raise error

    subject = made.controller(reconcile)
    async with tasks.started(subject.run()):
        subject.wake(build.key("bad"))
        subject.wake(build.key("good"))
        await settle()
        assert runs == {"bad": 1, "good": 1}
        await clock.advance(60)
    assert runs == {"bad": 4, "good": 1}
    assert made.reconciles(outcome) == 3
    assert made.reconciles("success") == 2


def pools(old: ConfigMap | None, new: ConfigMap | None) -> list[Key]:
    return [Key("", one.data["pool"]) for one in (old, new) if one is not None]


async def test_a_related_object_wakes_the_keys_it_led_to_before_and_after(
    made: Maker, informers: Informers, clock: VirtualClock, kube: KubeClient
) -> None:
    woken: list[str] = []

    async def reconcile(key: Key) -> None:
        woken.append(key.name)

    subject = made.controller(reconcile)
    subject.watch(informers.of(CONFIG_MAPS), pools)
    async with tasks.started(informers.run()), tasks.started(subject.run()):
        await settle()
        await build.create(kube, "a", pool="worker")
        await clock.advance(1)
        await build.change(kube, "a", pool="infra")
        await clock.advance(1)
    assert woken == ["worker", "infra", "worker"], "keys are woken in their order"


async def test_a_steady_world_costs_no_reconcile(
    made: Maker, informers: Informers, clock: VirtualClock, kube: KubeClient
) -> None:
    runs = 0

    async def reconcile(_: Key) -> None:
        nonlocal runs
        runs += 1

    subject = made.controller(reconcile)
    subject.watch(informers.of(CONFIG_MAPS), controller.own_key)
    await build.create(kube, "a")
    async with tasks.started(informers.run()), tasks.started(subject.run()):
        await clock.advance(24 * 3600)
    assert runs == 1


async def test_reconciles_that_await_nothing_leave_every_other_task_its_turn(
    made: Maker,
) -> None:
    """A queue of thousands of keys would hold up the renewal of the lease."""
    done: list[Key] = []
    turns: list[int] = []
    all_are_done = asyncio.Event()

    async def reconcile(key: Key) -> None:
        done.append(key)
        if len(done) == KEYS:
            all_are_done.set()

    async def count() -> None:
        while True:
            turns.append(len(done))
            await asyncio.sleep(0)

    subject = made.controller(reconcile)
    subject.wake(*(Key("", str(number)) for number in range(KEYS)))
    async with tasks.started(subject.run()), tasks.started(count()):
        await all_are_done.wait()
    most = max(after - before for before, after in itertools.pairwise(turns))
    assert most <= controller.WORKERS
