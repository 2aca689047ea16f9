"""Leader election in virtual time: never two leaders, whatever the network does."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import prometheus_client
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube.client import KubeClient
from lading.api.core import LEASES, Lease
from lading.loop.election import CLIENT_GO_TIMING, Elector, LeadershipLost
from lading.observability.metrics import Metrics
from lading.ports.http import HttpTransport
from tests.loop.faults import Link
from tests.loop.server import ApiServer, serving

NAMESPACE, NAME = "lading", "controller"


def elector_on(
    exchange: HttpTransport,
    clock: VirtualClock,
    rng: random.Random,
    metrics: Metrics,
    identity: str = "a",
) -> Elector:
    return Elector(
        kube=KubeClient(exchange),
        clock=clock,
        rng=rng,
        metrics=metrics,
        namespace=NAMESPACE,
        name=NAME,
        identity=identity,
    )


@dataclass(slots=True)
class Candidates:
    """Several processes that want to lead, each over a link of its own."""

    clock: VirtualClock
    server: ApiServer
    leading: set[str] = field(default_factory=set)
    terms: list[str] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=lambda: Metrics(prometheus_client.CollectorRegistry()))

    def start(self, identity: str) -> Link:
        link = self.links[identity] = Link(self.server, self.clock)
        elector = elector_on(link, self.clock, random.Random(identity), self.metrics, identity)
        self.tasks[identity] = asyncio.create_task(self._process(identity, elector))
        return link

    async def _process(self, identity: str, elector: Elector) -> None:
        while True:
            try:
                await elector.lead(lambda: self._work(identity))
            except LeadershipLost:
                await self.clock.sleep(1)  # the process is started again

    async def _work(self, identity: str) -> None:
        assert not self.leading, f"{identity} leads beside {self.leading}"
        self.leading.add(identity)
        self.terms.append(identity)
        try:
            await asyncio.Event().wait()
        finally:
            self.leading.remove(identity)

    async def stop(self, identity: str) -> None:
        task = self.tasks.pop(identity)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def heal(self) -> None:
        for link in self.links.values():
            link.is_down = link.hangs = False
            link.latency_seconds = 0.0

    def check(self) -> None:
        for task in self.tasks.values():
            assert not task.done(), task.exception()
        assert len(self.leading) <= 1

    async def lease(self) -> Lease:
        return await KubeClient(self.server).get(LEASES, NAME, namespace=NAMESPACE)


@asynccontextmanager
async def election() -> AsyncIterator[Candidates]:
    clock = VirtualClock()
    async with serving(clock) as server:
        candidates = Candidates(clock=clock, server=server)
        try:
            yield candidates
            candidates.check()
        finally:
            candidates.heal()
            for identity in list(candidates.tasks):
                await candidates.stop(identity)


@pytest.fixture
async def candidates() -> AsyncIterator[Candidates]:
    async with election() as world:
        yield world


async def test_one_of_three_leads_and_goes_on_leading(candidates: Candidates) -> None:
    for identity in ("a", "b", "c"):
        candidates.start(identity)
    await candidates.clock.advance(600)
    assert candidates.terms == ["a"]
    lease = await candidates.lease()
    assert lease.spec.holder_identity == "a"
    assert lease.spec.lease_transitions == 0


async def test_of_two_that_find_the_lease_free_at_the_same_time_one_leads(
    candidates: Candidates,
) -> None:
    candidates.start("a")
    await candidates.clock.advance(30)
    await candidates.stop("a")
    for identity in ("b", "c"):
        candidates.start(identity).latency_seconds = 1.0
    await candidates.clock.advance(60)
    assert len(candidates.terms) == 2


async def test_a_clean_stop_releases_the_lease_at_once(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.clock.advance(30)
    await candidates.stop("a")
    assert (await candidates.lease()).spec.holder_identity is None
    await candidates.clock.advance(CLIENT_GO_TIMING.retry_seconds * 2.2)
    assert candidates.terms == ["a", "b"]
    assert (await candidates.lease()).spec.lease_transitions == 1


@pytest.mark.parametrize("fault", ["is_down", "hangs"])
async def test_a_leader_that_cannot_renew_stops_before_another_may_start(
    fault: str, candidates: Candidates
) -> None:
    link = candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.clock.advance(30)
    setattr(link, fault, True)
    await candidates.clock.advance(CLIENT_GO_TIMING.renew_deadline_seconds)
    assert candidates.leading == set(), "cancelled after the renew deadline"
    assert candidates.terms == ["a"], "and the lease has not run out for the other yet"
    await candidates.clock.advance(20)
    assert candidates.terms == ["a", "b"]


async def test_an_outage_for_all_ends_with_one_leader(candidates: Candidates) -> None:
    links = [candidates.start(identity) for identity in ("a", "b")]
    await candidates.clock.advance(30)
    for link in links:
        link.is_down = True
    await candidates.clock.advance(300)
    assert candidates.leading == set()
    for link in links:
        link.is_down = False
    await candidates.clock.advance(60)
    assert len(candidates.leading) == 1


async def test_a_short_outage_does_not_end_a_term(candidates: Candidates) -> None:
    link = candidates.start("a")
    await candidates.clock.advance(31)
    link.is_down = True
    await candidates.clock.advance(CLIENT_GO_TIMING.renew_deadline_seconds / 2)
    link.is_down = False
    await candidates.clock.advance(60)
    assert candidates.terms == ["a"]


async def test_a_server_that_takes_seconds_for_each_answer_does_not_end_a_term(
    candidates: Candidates,
) -> None:
    link = candidates.start("a")
    await candidates.clock.advance(31)
    link.latency_seconds = 2.25  # there, and back
    await candidates.clock.advance(300)
    assert (candidates.terms, candidates.leading) == (["a"], {"a"})


async def test_a_crashed_leader_is_followed_after_its_lease_has_run_out(
    candidates: Candidates,
) -> None:
    link = candidates.start("a")
    await candidates.clock.advance(30)
    link.is_down = True  # so that it cannot release, as after a crash
    await candidates.stop("a")
    candidates.start("b")
    await candidates.clock.advance(CLIENT_GO_TIMING.lease_seconds - 1)
    assert candidates.terms == ["a"]
    await candidates.clock.advance(10)
    assert candidates.terms == ["a", "b"]


async def test_a_leader_stops_at_its_next_renewal_when_another_holds_the_lease(
    candidates: Candidates,
) -> None:
    candidates.start("a")
    await candidates.clock.advance(30)
    lease = {"spec": {"holderIdentity": "somebody", "renewTime": "2026-01-01T00:00:00.000000Z"}}
    await KubeClient(candidates.server).patch(LEASES, NAME, lease, namespace=NAMESPACE)
    await candidates.clock.advance(CLIENT_GO_TIMING.retry_seconds)
    assert candidates.leading == set()


async def test_the_end_of_the_work_is_the_end_of_the_term(
    server: ApiServer, clock: VirtualClock, rng: random.Random, metrics: Metrics
) -> None:
    elector = elector_on(server, clock, rng, metrics)

    async def fail() -> None:
        labels = {"lease": "lading/controller"}
        assert metrics.registry.get_sample_value("lading_leader", labels) == 1
        raise TimeoutError("the work's own")

    with pytest.raises(TimeoutError, match="the work's own"):
        await elector.lead(fail)
    lease = await KubeClient(server).get(LEASES, NAME, namespace=NAMESPACE)
    assert lease.spec.holder_identity is None


class PausedClock(VirtualClock):
    """Time may pass while the process stands still: that wakes no task that sleeps."""

    def pause(self, seconds: float) -> None:
        self._elapsed_seconds += seconds


@pytest.mark.parametrize(
    ("paused_seconds", "steps"),
    [
        (CLIENT_GO_TIMING.renew_deadline_seconds - 1, ["before", "after"]),
        (CLIENT_GO_TIMING.renew_deadline_seconds, ["before"]),
    ],
    ids=["within its lease", "beyond its deadline"],
)
async def test_a_leader_that_stood_still_goes_on_only_within_its_lease(
    paused_seconds: float, steps: list[str], rng: random.Random, metrics: Metrics
) -> None:
    clock, done = PausedClock(), []
    async with serving(clock) as server:
        elector = elector_on(server, clock, rng, metrics)

        async def step(name: str) -> None:
            done.append(name)

        async def work() -> None:
            await elector.guarded(step)("before")
            clock.pause(paused_seconds)
            await elector.guarded(step)("after")

        with contextlib.suppress(LeadershipLost):
            await elector.lead(work)
    assert done == steps


faults = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from(["is_down", "hangs", "is_slow", "heal"]),
    st.integers(1, 400),
)


@settings(max_examples=settings().max_examples // 2)
@given(schedule=st.lists(faults, max_size=30))
def test_no_schedule_of_faults_makes_two_leaders(schedule: list[tuple[str, str, int]]) -> None:
    async def play() -> None:
        async with election() as candidates:
            for identity in ("a", "b", "c"):
                candidates.start(identity)
            for identity, fault, deciseconds in schedule:
                link = candidates.links[identity]
                link.is_down, link.hangs = fault == "is_down", fault == "hangs"
                link.latency_seconds = 1.1 if fault == "is_slow" else 0.0
                await candidates.clock.advance(deciseconds / 10)
                candidates.check()
            candidates.heal()
            await candidates.clock.advance(60)
            assert len(candidates.leading) == 1, "all is well again, so one leads"

    asyncio.run(play())
