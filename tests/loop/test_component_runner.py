"""A part of a feature with missing kinds: it waits, reports it, and starts when they come."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from lading.adapters.clock import VirtualClock
from lading.api.core import CONFIG_MAPS, NODES
from lading.kernel.objects import Resource
from lading.loop import tasks
from lading.loop.component_runner import ComponentRunner, FoundKinds, Served
from lading.loop.feature import Kind, Tasks
from lading.loop.informer import Informers
from lading.loop.manager import Manager
from lading.ports import kube
from tests.loop.faults import Link

MAPS, OTHERS = Kind(resource=CONFIG_MAPS), Kind(resource=NODES)
HOUR = 3600.0
RECHECK_SECONDS_MAX = 30.0


@dataclass
class Cluster:
    """Serves some kinds, and knows what it was asked."""

    served: set[Kind] = field(default_factory=set)
    is_away: bool = False
    asked: list[tuple[Kind, ...]] = field(default_factory=list)

    async def find(self, kinds: Iterable[Kind]) -> FoundKinds:
        kinds = tuple(kinds)
        self.asked.append(kinds)
        if self.is_away:
            raise kube.Unavailable("connection refused")
        served: dict[Kind, Resource[Any]] = {
            kind: kind.resource for kind in kinds if kind in self.served
        }
        missing = tuple(kind.name for kind in kinds if kind not in self.served)
        return FoundKinds(served=served, missing=missing)


@dataclass
class Worker:
    """What a part runs: it knows that it runs, and on what."""

    watches: Resource[Any] | None = None
    informers: Informers | None = None
    served: Served = field(default_factory=dict)
    is_running: bool = False

    async def run(self) -> None:
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_running = False

    @asynccontextmanager
    async def open(self, served: Served) -> AsyncIterator[Tasks]:
        self.served = served
        if self.watches and self.informers:
            self.informers.of(self.watches)
        yield Tasks(controllers=(self,), pages={"/worker": self.page})

    async def page(self) -> str:
        return "page"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@dataclass
class Parts:
    """Makes parts that report to it."""

    cluster: Cluster
    informers: Informers
    clock: VirtualClock
    rng: random.Random
    reported: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def part(self, name: str, *kinds: Kind, worker: Worker, is_on: bool = True) -> ComponentRunner:
        worker.informers = self.informers.scoped()
        return ComponentRunner(
            name=name,
            is_on=is_on,
            kinds=kinds,
            informers=worker.informers,
            open_work=worker.open,
            check=self.cluster.find,
            clock=self.clock,
            rng=self.rng,
        )

    def manager(self, *parts: ComponentRunner) -> Manager:
        return Manager(informers=self.informers, parts=parts, report=self._report)

    async def _report(self, name: str, missing: tuple[str, ...]) -> None:
        self.reported.append((name, missing))


@pytest.fixture
async def parts(
    cluster: Cluster, informers: Informers, clock: VirtualClock, rng: random.Random
) -> Parts:
    return Parts(cluster=cluster, informers=informers, clock=clock, rng=rng)


async def test_a_part_with_served_kinds_starts_with_their_versions(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    cluster.served = {MAPS}
    worker = Worker()
    manager = parts.manager(parts.part("maps", MAPS, worker=worker))
    assert manager.unsynced() == ("maps",)
    assert manager.pages() == {}
    async with tasks.started(manager.run()):
        await clock.advance(1)
        assert worker.is_running
        assert worker.served == {MAPS: CONFIG_MAPS}
        assert manager.unsynced() == manager.waiting() == ()
        assert manager.pages().keys() == {"/worker"}
        await clock.advance(HOUR)
    assert cluster.asked == [(MAPS,)], "asked again although nothing was missing"
    assert parts.reported == []


async def test_a_part_that_waits_keeps_no_other_from_working(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    cluster.served = {MAPS}
    waiting, working, simple = Worker(), Worker(), Worker()
    manager = parts.manager(
        parts.part("others", MAPS, OTHERS, worker=waiting),
        parts.part("maps", MAPS, worker=working),
        parts.part("simple", worker=simple),
    )
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert (waiting.is_running, working.is_running, simple.is_running) == (False, True, True)
        assert manager.unsynced() == (), "the process must be ready"
        assert manager.waiting() == ("others: nodes",)
        assert parts.reported == [("others", ("nodes",))], "one report per feature that waits"


async def test_the_kinds_of_one_alternative_are_enough(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    first, second = Worker(), Worker()
    one = parts.part("both", MAPS, worker=first)
    other = parts.part("both", OTHERS, worker=second)
    one.set_alternatives((other,))
    other.set_alternatives((one,))
    cluster.served = {OTHERS}
    manager = parts.manager(one, other)
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert (first.is_running, second.is_running) == (False, True)
        assert manager.waiting() == ()
        assert parts.reported == []
        cluster.served = {MAPS, OTHERS}
        await clock.advance(RECHECK_SECONDS_MAX)
        assert first.is_running


async def test_while_no_alternative_is_served_each_is_listed(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    one = parts.part("both", MAPS, worker=Worker())
    other = parts.part("both", OTHERS, worker=Worker())
    one.set_alternatives((other,))
    other.set_alternatives((one,))
    manager = parts.manager(one, other)
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert manager.waiting() == ("both: configmaps; nodes",)
        assert parts.reported == [("both", ("configmaps", "nodes"))], "one report per feature"


async def test_a_part_starts_without_a_restart_when_its_last_kind_comes(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    worker = Worker()
    manager = parts.manager(parts.part("both", MAPS, OTHERS, worker=worker))
    with capture_logs() as logs:
        async with tasks.started(manager.run()):
            await clock.advance(HOUR)
            cluster.served = {MAPS}
            await clock.advance(RECHECK_SECONDS_MAX)
            assert not worker.is_running
            assert manager.waiting() == ("both: nodes",)
            cluster.served = {MAPS, OTHERS}
            await clock.advance(RECHECK_SECONDS_MAX)
            assert worker.is_running
            assert worker.served == {MAPS: CONFIG_MAPS, OTHERS: NODES}
            assert manager.waiting() == ()
            count = len(cluster.asked)
            await clock.advance(HOUR)
    assert len(cluster.asked) == count, "asked again although nothing was missing"
    assert (OTHERS,) in cluster.asked, "what was found need not be asked for again"
    assert [(one["event"], one.get("missing", ())) for one in logs] == [
        ("feature waits for kinds", ("configmaps", "nodes")),
        ("feature waits for kinds", ("nodes",)),
        ("feature starts, all its kinds are served", ()),
    ]
    assert len(parts.reported) == 1


async def test_a_missing_kind_is_asked_for_ever_more_slowly(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    manager = parts.manager(parts.part("maps", MAPS, worker=Worker()))
    async with tasks.started(manager.run()):
        await clock.advance(60)
        begin = len(cluster.asked)
        assert begin <= 8
        await clock.advance(HOUR)
        assert HOUR / RECHECK_SECONDS_MAX <= len(cluster.asked) - begin <= HOUR / 20


async def test_an_api_server_that_is_away_is_asked_again(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    cluster.is_away = True
    cluster.served = {MAPS}
    worker = Worker()
    manager = parts.manager(parts.part("maps", MAPS, worker=worker))
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert manager.unsynced() == ("maps",), "what is served is not known yet"
        cluster.is_away = False
        await clock.advance(RECHECK_SECONDS_MAX)
        assert worker.is_running


async def test_a_feature_that_is_off_does_not_wait(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    worker = Worker()
    manager = parts.manager(parts.part("maps", MAPS, worker=worker, is_on=False))
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert not worker.is_running
        assert manager.unsynced() == manager.waiting() == ()
    assert (len(cluster.asked), parts.reported) == (1, [])


async def test_a_feature_that_is_off_still_cleans_up_where_its_kinds_are_served(
    parts: Parts, cluster: Cluster, clock: VirtualClock
) -> None:
    cluster.served = {MAPS}
    worker = Worker()
    manager = parts.manager(parts.part("maps", MAPS, worker=worker, is_on=False))
    async with tasks.started(manager.run()):
        await clock.advance(1)
        assert worker.is_running


async def test_caches_that_are_never_complete_hold_up_their_own_part_only(
    parts: Parts, link: Link, clock: VirtualClock
) -> None:
    link.is_down = True
    stuck, working = Worker(watches=CONFIG_MAPS), Worker()
    manager = parts.manager(parts.part("stuck", worker=stuck), parts.part("simple", worker=working))
    async with tasks.started(manager.run()):
        await clock.advance(HOUR)
        assert (stuck.is_running, working.is_running) == (False, True)
        assert manager.unsynced() == ("configmaps",)
        link.is_down = False
        await clock.advance(HOUR)
        assert stuck.is_running
        assert manager.unsynced() == ()
