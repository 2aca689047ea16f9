"""Waiting for a dependency at the start: what is waited out, how long, and what is logged."""

import asyncio
import random

import pytest
from structlog.testing import capture_logs

from lading.adapters.clock import VirtualClock, settle
from lading.adapters.kube import errors
from lading.loop import dependencies, tasks
from lading.loop.dependencies import DependencyWaiter
from lading.ports import cri, kube

RUNTIME = "the container runtime"


class Dependency:
    """In error until it is well."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return "here I am"


@pytest.fixture
def waiter(clock: VirtualClock, rng: random.Random) -> DependencyWaiter:
    return DependencyWaiter(clock, rng)


@pytest.mark.parametrize(
    "error",
    [
        kube.Unavailable("connection refused"),
        kube.TooManyRequests("come back later"),
        cri.Unavailable("no socket"),
        cri.TimedOut("no answer in 120 seconds"),
    ],
    ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
)
async def test_error_that_may_pass_is_waited_out(
    error: Exception, waiter: DependencyWaiter, clock: VirtualClock
) -> None:
    dependency = Dependency(error)
    async with tasks.started(waiter.wait_for(RUNTIME, dependency.ask)) as waiting:
        await clock.advance(3600)
        assert not waiting.done()
        assert waiter.waiting_for() == (RUNTIME,)
        dependency.error = None
        await clock.advance(dependencies.RETRY.seconds_max * 2)
        assert waiting.result() == "here I am"


@pytest.mark.parametrize(
    "error",
    [
        kube.Unauthorized("who are you?"),
        kube.Forbidden("not you"),
        kube.KubeError("an answer that cannot be read"),
        errors.UntrustedCertificate("not its certificate"),
        kube.Invalid("the request is wrong"),
        cri.Unsupported("no such service"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_error_that_stays_is_raised_at_once(
    error: Exception, waiter: DependencyWaiter
) -> None:
    dependency = Dependency(error)
    with pytest.raises(type(error)):
        await waiter.wait_for("the API server", dependency.ask)
    assert dependency.asked == 1


async def test_who_stays_away_is_asked_ever_more_slowly(
    waiter: DependencyWaiter, clock: VirtualClock
) -> None:
    dependency = Dependency(cri.Unavailable("no socket"))
    async with tasks.started(waiter.wait_for(RUNTIME, dependency.ask)):
        await clock.advance(10)
        assert 3 <= dependency.asked <= 5
        dependency.asked = 0
        await clock.advance(600)
        assert 600 / (1.5 * dependencies.RETRY.seconds_max) - 1 <= dependency.asked <= 45


async def test_the_reason_is_logged_when_waiting_begins_and_then_every_minute(
    waiter: DependencyWaiter, clock: VirtualClock
) -> None:
    dependency = Dependency(cri.Unavailable("no socket"))
    with capture_logs() as logged:
        async with tasks.started(waiter.wait_for(RUNTIME, dependency.ask)):
            await settle()
            assert [(line["dependency"], line["error"]) for line in logged] == [
                (RUNTIME, "no socket")
            ]
            dependency.error = cri.Unavailable("it hangs")
            await clock.advance(3 * dependencies.REPORT_SECONDS)
    assert [line["error"] for line in logged] == ["no socket", *["it hangs"] * 3]


async def test_a_dependency_that_hangs_is_reported_too(
    waiter: DependencyWaiter, clock: VirtualClock
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    with capture_logs() as logged:
        async with tasks.started(waiter.wait_for(RUNTIME, hang)):
            await clock.advance(dependencies.SILENCE_SECONDS_MAX)
    assert [line["error"] for line in logged] == ["no answer yet"]


async def test_a_dependency_that_is_there_costs_no_line(
    waiter: DependencyWaiter, clock: VirtualClock
) -> None:
    with capture_logs() as logged:
        assert await waiter.wait_for(RUNTIME, Dependency().ask) == "here I am"
        await clock.advance(3600)
    assert logged == []
