"""The whole loop together: it starts in order, stops in order, and leaves nothing behind."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from lading.adapters.clock import VirtualClock
from lading.adapters.kube.client import KubeClient
from lading.api.core import CONFIG_MAPS, LEASES
from lading.kernel.objects import Key
from lading.loop import controller, tasks
from lading.loop.component_runner import ComponentRunner, FoundKinds
from lading.loop.controller import Controller
from lading.loop.election import Elector, LeadershipLost
from lading.loop.feature import Tasks
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.loop.recorder import EventRecorder
from lading.observability.metrics import Metrics
from tests.loop import build
from tests.loop.faults import Link


@pytest.fixture
def reconciled() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Running:
    manager: Manager
    worker: Controller


@pytest.fixture
async def runtime(
    informers: Informers,
    link: Link,
    clock: VirtualClock,
    rng: random.Random,
    metrics: Metrics,
    reconciled: list[str],
) -> Running:
    own = informers.scoped()

    async def reconcile(key: Key) -> None:
        reconciled.append(f"began {key.name}")
        try:
            await clock.sleep(5)
            reconciled.append(f"ended {key.name}")
        finally:
            lease = await KubeClient(link).get(LEASES, "controller", namespace="lading")
            assert lease.spec.holder_identity == "lading-0", "work outlived the lease"

    worker = Controller(name="test", reconcile=reconcile, clock=clock, rng=rng, metrics=metrics)

    @asynccontextmanager
    async def open_work(served: object) -> AsyncIterator[Tasks]:
        worker.watch(own.of(CONFIG_MAPS), controller.own_key)
        yield Tasks(controllers=(worker,))

    part = ComponentRunner(
        name="test",
        is_on=True,
        kinds=(),
        informers=own,
        open_work=open_work,
        check=lambda kinds: found_nothing(),
        clock=clock,
        rng=rng,
    )
    client = KubeClient(link)
    recorder = EventRecorder(
        kube=client,
        clock=clock,
        rng=rng,
        metrics=metrics,
        controller="lading/test",
        instance="lading-0",
    )
    elector = Elector(
        kube=client,
        clock=clock,
        rng=rng,
        metrics=metrics,
        namespace="lading",
        name="controller",
        identity="lading-0",
    )
    manager = Manager(informers=informers, parts=(part,), support=(recorder,), elector=elector)
    return Running(manager, worker)


async def found_nothing() -> FoundKinds:
    return FoundKinds(served={}, missing=())


async def test_work_begins_when_the_caches_are_complete(
    runtime: Running, link: Link, clock: VirtualClock, kube: KubeClient, reconciled: list[str]
) -> None:
    await build.create(kube, "a")
    link.is_silent = True
    async with tasks.started(runtime.manager.run()):
        runtime.worker.wake(build.key("a"))
        await clock.advance(60)
        assert reconciled == []
        link.is_silent = False
        await clock.advance(200)
        assert reconciled == ["began a", "ended a"]


async def test_a_clean_shutdown_cancels_releases_and_leaves_no_task(
    runtime: Running, clock: VirtualClock, kube: KubeClient, reconciled: list[str]
) -> None:
    await build.create(kube, "a")
    running = asyncio.create_task(runtime.manager.run())
    await clock.advance(1)
    assert reconciled == ["began a"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert reconciled == ["began a"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    lease = await kube.get(LEASES, "controller", namespace="lading")
    assert lease.spec.holder_identity is None


async def test_shutdown_is_bounded_when_the_api_server_hangs(
    runtime: Running, link: Link, clock: VirtualClock
) -> None:
    running = asyncio.create_task(runtime.manager.run())
    await clock.advance(1)
    link.hangs = True
    running.cancel()
    await clock.advance(10)
    assert running.cancelled()


async def test_a_lost_lease_ends_the_process(
    runtime: Running, link: Link, clock: VirtualClock
) -> None:
    running = asyncio.create_task(runtime.manager.run())
    await clock.advance(1)
    link.is_down = True
    await clock.advance(30)
    with pytest.RaisesGroup(LeadershipLost):
        await running
