"""The reconcile pipeline: lanes are ordered inside and independent of each other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from lading.adapters.clock import VirtualClock
from lading.kernel.objects import Key
from lading.kernel.planning import Plan
from lading.loop import pipeline
from lading.loop.pipeline import PreconditionFailed
from lading.ports import kube

POOL = Key("", "worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    lane: str
    text: str
    because: str = "the test says so"
    effect: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True, kw_only=True)
class Feature:
    """Writes texts into a world; its plan is given."""

    actions: tuple[Write, ...]
    world: list[str] = field(default_factory=list)
    planned_at: datetime | None = None
    recheck_at: datetime | None = None

    async def observe(self, key: Key) -> str:
        return f"facts of {key}"

    def plan(self, observed: str, now: datetime) -> Plan:
        assert observed == "facts of worker"
        self.planned_at = now
        return Plan(actions=self.actions, recheck_at=self.recheck_at)

    async def apply(self, action: Write) -> None:
        if action.effect:
            await action.effect()
        self.world.append(action.text)


async def conflict() -> None:
    with pipeline.precondition("the pool"):
        raise kube.Conflict("stale resourceVersion")


async def vanished() -> None:
    with pipeline.precondition("the pool"):
        raise kube.NotFound("no such pool")


async def bug() -> None:
    raise KeyError("a bug")


async def test_a_plan_is_applied_and_says_when_to_look_again(clock: VirtualClock) -> None:
    feature = Feature(
        actions=(Write(lane="a", text="1"), Write(lane="a", text="2")), recheck_at=clock.now()
    )
    assert await pipeline.reconcile(feature, POOL, clock) == clock.now()
    assert feature.world == ["1", "2"]
    assert feature.planned_at == clock.now()


@pytest.mark.parametrize("failure", [conflict, vanished, bug], ids=lambda f: f.__name__)
async def test_a_failure_drops_the_rest_of_its_lane_and_of_no_other(
    failure: Callable[[], Awaitable[None]], clock: VirtualClock
) -> None:
    feature = Feature(
        actions=(
            Write(lane="a", text="a1"),
            Write(lane="a", text="a2", effect=failure),
            Write(lane="b", text="b1"),
            Write(lane="a", text="a3"),
            Write(lane="b", text="b2"),
        )
    )
    with pytest.raises(ExceptionGroup, match="1 of 2 lanes of worker failed") as raised:
        await pipeline.reconcile(feature, POOL, clock)
    assert sorted(feature.world) == ["a1", "b1", "b2"]
    expected = KeyError if failure is bug else PreconditionFailed
    assert isinstance(raised.value.exceptions[0], expected)


async def test_a_slow_lane_does_not_hold_up_another(clock: VirtualClock) -> None:
    async def slow() -> None:
        await clock.sleep(60)

    feature = Feature(
        actions=(Write(lane="a", text="slow", effect=slow), Write(lane="b", text="quick"))
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(pipeline.reconcile(feature, POOL, clock))
        await clock.advance(1)
        assert feature.world == ["quick"]
        await clock.advance(60)
    assert feature.world == ["quick", "slow"]


async def test_lanes_at_once_are_bounded(clock: VirtualClock) -> None:
    running = most = 0

    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(1)
        running -= 1

    lanes = range(3 * pipeline.LANES_AT_ONCE_MAX)
    feature = Feature(
        actions=tuple(Write(lane=str(lane), text=str(lane), effect=count) for lane in lanes)
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(pipeline.reconcile(feature, POOL, clock))
        await clock.advance(10)
    assert most == pipeline.LANES_AT_ONCE_MAX
    assert len(feature.world) == len(lanes)
