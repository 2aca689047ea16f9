"""The work queue: coalescing, exclusion, delays and back-off, by cases and by random walks."""

import asyncio
import random
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lading.adapters.clock import VirtualClock, settle
from lading.kernel.backoff import Backoff
from lading.loop import tasks
from lading.loop.queue import STALE_ENTRIES_MIN, Delays, WorkQueue

EXACT = Backoff(seconds_min=1, seconds_max=8, jitter_fraction=0)


@pytest.fixture
async def queue(clock: VirtualClock, rng: random.Random) -> WorkQueue[str]:
    return WorkQueue(clock, rng, retry=EXACT)


async def test_a_key_that_waits_already_is_not_queued_again(queue: WorkQueue[str]) -> None:
    for _ in range(100):
        queue.add("a")
    assert len(queue) == 1


async def test_a_key_is_never_worked_on_twice_at_once(queue: WorkQueue[str]) -> None:
    active: Counter[str] = Counter()
    runs = 0

    async def work() -> None:
        nonlocal runs
        while True:
            async with queue.next() as key:
                active[key] += 1
                assert active[key] == 1
                runs += 1
                await asyncio.sleep(0)
                active[key] -= 1

    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(work()) for _ in range(8)]
        for number in range(1000):
            queue.add(f"key-{number % 3}")
            if number % 7 == 0:
                await asyncio.sleep(0)
        await settle()
        for worker in workers:
            worker.cancel()
    assert runs > 3


async def test_a_key_added_while_it_is_worked_on_runs_once_more(queue: WorkQueue[str]) -> None:
    queue.add("a")
    async with queue.next():
        queue.add("a")
        queue.add("a")
        assert len(queue) == 0
    assert len(queue) == 1


async def test_a_delayed_key_comes_when_its_time_has_come(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    async with tasks.started(queue.run()):
        queue.add_after("late", 10)
        queue.add_after("soon", 5)
        queue.add_after("late", 20)
        await clock.advance(4.9)
        assert len(queue) == 0
        await clock.advance(0.1)
        assert len(queue) == 1
        await clock.advance(5)
        assert len(queue) == 2, "an earlier appointment stands"


async def test_taking_a_key_cancels_its_appointment(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    async with tasks.started(queue.run()):
        queue.add_after("a", 10)
        queue.add("a")
        async with queue.next():
            pass
        await clock.advance(60)
        assert len(queue) == 0


async def test_a_failing_key_waits_longer_each_time_until_it_is_well(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    delays = []
    async with tasks.started(queue.run()):
        for _ in range(5):
            queue.retry("a")
            started_at = clock.monotonic()
            while not len(queue):
                await clock.advance(0.5)
            delays.append(clock.monotonic() - started_at)
            async with queue.next():
                pass
    assert delays == [1, 2, 4, 8, 8]
    queue.forget("a")
    assert queue.retry("a") == 1


def test_appointments_that_were_cancelled_take_no_room_for_long() -> None:
    delays: Delays[str] = Delays()
    for instant in range(10_000):
        delays.set("a", instant)
        delays.discard("a")
    assert len(delays._heap) <= STALE_ENTRIES_MIN + 1


class QueueMachine(RuleBasedStateMachine):
    """Any order of calls: what is owed is delivered, and nothing is worked on twice at once."""

    keys = st.sampled_from("abc")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = VirtualClock()
        self.queue: WorkQueue[str] = WorkQueue(self.clock, random.Random(1), retry=EXACT)
        self.owed: set[str] = set()
        self.appointments: dict[str, float] = {}
        self.active: dict[str, asyncio.Event] = {}
        self.pump = self.runner.get_loop().create_task(self.queue.run())
        self.workers: list[asyncio.Task[None]] = []

    def settle(self) -> None:
        self.runner.run(settle())

    async def _work(self) -> None:
        async with self.queue.next() as key:
            assert key not in self.active, "worked on twice at once"
            self.owed.remove(key)
            self.appointments.pop(key, None)
            finished = self.active[key] = asyncio.Event()
            await finished.wait()
            del self.active[key]

    @rule(key=keys)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.owed.add(key)
        self.settle()

    @rule(key=keys, seconds=st.integers(1, 20))
    def add_after(self, key: str, seconds: int) -> None:
        self.queue.add_after(key, seconds)
        instant = self.clock.monotonic() + seconds
        self.appointments[key] = min(instant, self.appointments.get(key, instant))
        self.settle()

    @precondition(lambda self: len(self.workers) < 3)
    @rule()
    def start_worker(self) -> None:
        self.workers.append(self.runner.get_loop().create_task(self._work()))
        self.settle()

    @precondition(lambda self: self.active)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.active)))
        self.active[key].set()
        self.settle()
        self.workers = [worker for worker in self.workers if not worker.done()]

    @rule(seconds=st.integers(1, 10))
    def advance(self, seconds: int) -> None:
        end = self.clock.monotonic() + seconds
        due = {key for key, instant in self.appointments.items() if instant <= end}
        self.owed |= due
        self.appointments = {k: at for k, at in self.appointments.items() if k not in due}
        self.runner.run(self.clock.advance(seconds))

    @invariant()
    def what_is_owed_waits_unless_it_is_active(self) -> None:
        assert len(self.queue) == len(self.owed - self.active.keys())
        idle_workers = len(self.workers) - len(self.active)
        assert not (idle_workers and self.owed - self.active.keys()), "work and worker both wait"

    def teardown(self) -> None:
        for task in (self.pump, *self.workers):
            task.cancel()
        self.settle()
        self.runner.close()


QueueMachine.TestCase.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=40
)
test_queue_under_random_walks = QueueMachine.TestCase
