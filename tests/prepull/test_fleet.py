"""Many nodes in virtual time, with an API server that counts what is written."""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from lading.adapters.clock import VirtualClock
from lading.api.core import DAEMON_SETS, NODES, PODS, Pod
from lading.api.longhorn import IMAGES, SETTINGS, Image
from lading.kernel.objects import Key
from lading.kernel.values import replace
from lading.loop.controller import Controller
from lading.loop.feature import Runnable
from lading.loop.informer import Informer, Informers, OptionalInformer
from lading.loop.own_facts import WriteLog
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from lading.ports import kube
from lading.prepull import controller as prepull
from lading.prepull import holder
from lading.prepull.fleet import HolderFleet
from lading.prepull.image_lists import NodeImageLists
from lading.prepull.metrics import PrePullMetrics
from lading.prepull.observe import PrePullCaches, PrePullFacts
from lading.prepull.types import PrePullSettings
from tests.prepull.worlds import (
    HOLD_IMAGE,
    NAMESPACE,
    daemon_set,
    image,
    node,
    pod,
    running,
    setting,
    waiting,
)

NODE_COUNT, IMAGE_COUNT = 1000, 20
SETTINGS_OF_TEST = PrePullSettings(hold_image=HOLD_IMAGE)
NO_KUBE: Any = None
URLS = tuple(f"registry.example.com/{number:02}:1" for number in range(IMAGE_COUNT))


@dataclass
class CountingKube:
    """Keeps what is written, shows it in the caches, and serves only the Setting."""

    clock: VirtualClock
    caches: Any = None
    statuses: list[tuple[str, datetime]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    revision: Any = field(default_factory=lambda: itertools.count(1000))

    async def get(self, resource: Any, name: str, **_: Any) -> Any:
        assert resource is SETTINGS
        return setting()

    async def apply(self, resource: Any, body: Any, **_: Any) -> Any:
        name = body["metadata"]["name"]
        self.statuses.append((name, self.clock.now()))
        before = self.caches.images.get(Key(NAMESPACE, name))
        assert before is not None
        plain = {**msgspec.to_builtins(before), "status": body["status"]}
        plain["metadata"]["resourceVersion"] = str(next(self.revision))
        written = msgspec.convert(plain, Image)
        self.caches.images.put(written)
        return written

    async def patch(self, resource: Any, name: str, *_: Any, **__: Any) -> Any:
        self.others.append(f"patch {resource.plural} {name}")
        return self.caches.daemon_sets.get(Key(NAMESPACE, name))

    async def create(self, resource: Any, body: Any, **_: Any) -> Any:
        if resource.plural != "events":
            self.others.append(f"create {resource.plural}")
        raise kube.AlreadyExists("it is there")

    async def delete(self, resource: Any, name: str, **_: Any) -> None:
        self.others.append(f"delete {resource.plural} {name}")


def pod_of(number: int, *, ready: bool, revision: int) -> Pod:
    statuses = [running(url) if ready else waiting(url) for url in URLS]
    return pod(
        f"pod-{number:04}",
        *statuses,
        on=f"node-{number:04}",
        template=TEMPLATE,
        ready=ready,
        metadata={"resourceVersion": str(revision)},
    )


IMAGE_OBJECTS = [image(f"i{number:02}", url) for number, url in enumerate(URLS)]
BODY = holder.daemon_set(
    URLS, IMAGE_OBJECTS, SETTINGS_OF_TEST, namespace=NAMESPACE, hold_image=HOLD_IMAGE
)
TEMPLATE: str = BODY["metadata"]["annotations"][holder.TEMPLATE_ANNOTATION]


@dataclass
class Fleet:
    kube: CountingKube
    caches: PrePullCaches
    clock: VirtualClock
    holder: HolderFleet


@contextlib.asynccontextmanager
async def at_work() -> AsyncIterator[Fleet]:
    clock, rng, metrics = VirtualClock(), random.Random(1), Metrics(CollectorRegistry())
    api: Any = CountingKube(clock)
    informers = Informers(kube=api, clock=clock, rng=rng, metrics=metrics)
    caches = api.caches = PrePullCaches(
        images=Informer(IMAGES),
        settings=OptionalInformer(
            kube=api, clock=clock, rng=rng, informers=informers, resource=SETTINGS
        ),
        daemon_sets=Informer(DAEMON_SETS),
        pods=Informer(PODS),
        nodes=Informer(NODES),
    )
    caches.daemon_sets.put(daemon_set(BODY))
    for one in IMAGE_OBJECTS:
        caches.images.put(one)
    for number in range(NODE_COUNT):
        caches.nodes.put(node(f"node-{number:04}"))
        caches.pods.put(pod_of(number, ready=True, revision=1))
    lists = NodeImageLists(
        kube=api,
        clock=clock,
        rng=rng,
        metrics=metrics,
        delay=SETTINGS_OF_TEST.periods.image_list_delay,
    )
    fleet = HolderFleet(
        node_cache=caches.nodes,
        pod_cache=caches.pods,
        daemon_set_cache=caches.daemon_sets,
        image_lists=lists,
        settings=SETTINGS_OF_TEST,
        clock=clock,
    )
    recorder = EventRecorder(
        kube=api, clock=clock, rng=rng, metrics=metrics, controller="test", instance="test"
    )
    writes = WriteLog(clock)
    facts = PrePullFacts(
        kube=api,
        clock=clock,
        caches=caches,
        fleet=fleet,
        image_lists=lists,
        settings=SETTINGS_OF_TEST,
        namespace=NAMESPACE,
        gate_is_on=True,
        writes=writes,
    )
    daemon = prepull.HolderReconciler(
        kube=api,
        clock=clock,
        facts=facts,
        writes=writes,
        fleet=fleet,
        image_lists=lists,
        settings=SETTINGS_OF_TEST,
        recorder=recorder,
        metrics=PrePullMetrics(metrics.registry, images=caches.images, roll_out=fleet.roll_out),
    )
    statuses = prepull.ImageReconciler(
        caches=caches,
        facts=facts,
        fleet=fleet,
        kube=api,
        clock=clock,
        recorder=recorder,
        settings=SETTINGS_OF_TEST,
    )
    controllers = {
        name: Controller(name=name, reconcile=reconcile, clock=clock, rng=rng, metrics=metrics)
        for name, reconcile in (
            (prepull.DAEMON_SET, daemon.reconcile),
            (prepull.STATUS, statuses.reconcile),
        )
    }
    prepull.watch(controllers, caches, fleet, SETTINGS_OF_TEST.periods)
    parts: tuple[Runnable, ...] = (fleet, *controllers.values())
    works = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield Fleet(api, caches, clock, fleet)
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)


async def test_flapping_on_1000_nodes_costs_one_status_write_per_image_in_30_seconds() -> None:
    rng = random.Random(7)
    async with at_work() as fleet:
        await fleet.clock.advance(40)
        assert {name for name, _ in fleet.kube.statuses} == {
            one.metadata.name for one in IMAGE_OBJECTS
        }
        fleet.kube.statuses.clear()
        fleet.kube.others.clear()
        for second in range(65):
            for number in rng.sample(range(NODE_COUNT), 30):
                ready = rng.random() < 0.5
                fleet.caches.pods.put(pod_of(number, ready=ready, revision=second + 2))
            await fleet.clock.advance(1)
        by_image: dict[str, list[datetime]] = {}
        for name, at in fleet.kube.statuses:
            by_image.setdefault(name, []).append(at)
        assert len(by_image) == IMAGE_COUNT, "progress is reported"
        for times in by_image.values():
            gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(times)]
            assert all(gap >= 30 for gap in gaps)
        assert fleet.kube.others == []


async def test_at_rest_1000_nodes_cost_no_write() -> None:
    async with at_work() as fleet:
        await fleet.clock.advance(40)
        fleet.kube.statuses.clear()
        fleet.kube.others.clear()
        for number in range(0, NODE_COUNT, 10):  # heartbeats
            beat = node(f"node-{number:04}")
            newer = replace(beat.metadata, resource_version="9")
            fleet.caches.nodes.put(replace(beat, metadata=newer))
        await fleet.clock.advance(600)
        assert (fleet.kube.statuses, fleet.kube.others) == ([], [])


async def test_a_pod_that_failed_is_counted_once_for_its_node() -> None:
    async with at_work() as fleet:
        for revision in (5, 6):
            failed = pod(
                "evicted",
                on="node-0001",
                template=TEMPLATE,
                metadata={"resourceVersion": str(revision)},
                status={"phase": "Failed", "reason": "Evicted"},
            )
            fleet.caches.pods.put(failed)
        (found,) = fleet.holder.roll_out().failures.items()
    assert (found[0], found[1].count) == ("node-0001", 1)


async def test_a_node_pulls_from_the_moment_its_gate_is_removed() -> None:
    """The cache shows the pod without its gate only later; no place is given twice meanwhile."""
    clock, metrics = VirtualClock(), Metrics(CollectorRegistry())
    node_cache, pod_cache, daemon_sets = Informer(NODES), Informer(PODS), Informer(DAEMON_SETS)
    lists = NodeImageLists(
        kube=NO_KUBE, clock=clock, rng=random.Random(1), metrics=metrics, delay=timedelta(0)
    )
    fleet = HolderFleet(
        node_cache=node_cache,
        pod_cache=pod_cache,
        daemon_set_cache=daemon_sets,
        image_lists=lists,
        settings=SETTINGS_OF_TEST,
        clock=clock,
    )
    daemon_sets.put(daemon_set(BODY))
    node_cache.put(node())
    gated = pod(gated=True, template=TEMPLATE, metadata={"resourceVersion": "1"})
    pod_cache.put(gated)
    await fleet.recount()
    assert (len(fleet.roll_out().gated), fleet.roll_out().pulling_count) == (1, 0)
    fleet.gate_removed(gated.metadata.uid, "node-a")
    await fleet.recount()
    assert (len(fleet.roll_out().gated), fleet.roll_out().pulling_count) == (0, 1)
    pod_cache.put(
        pod(
            "pod-a",
            *map(running, URLS),
            ready=True,
            template=TEMPLATE,
            metadata={"resourceVersion": "2"},
        )
    )
    await fleet.recount()
    assert fleet.roll_out().pulling_count == 0
