"""Waiting for a neighbour at the start: what is waited out, how patiently, and what is said."""

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


class Neighbour:
    """In trouble until it is well."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.trouble = trouble
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble
        return "here I am"


@pytest.fixture
def patient(clock: VirtualClock, rng: random.Random) -> DependencyWaiter:
    return DependencyWaiter(clock, rng)


@pytest.mark.parametrize(
    "trouble",
    [
        kube.Unavailable("connection refused"),
        kube.TooManyRequests("come back later"),
        cri.Unavailable("no socket"),
        cri.TimedOut("no answer in 120 seconds"),
    ],
    ids=lambda trouble: f"{type(trouble).__module__}.{type(trouble).__name__}",
)
async def test_trouble_that_may_pass_is_waited_out(
    trouble: Exception, patient: DependencyWaiter, clock: VirtualClock
) -> None:
    neighbour = Neighbour(trouble)
    async with tasks.started(patient.wait_for(RUNTIME, neighbour.ask)) as waiting:
        await clock.advance(3600)
        assert not waiting.done()
        assert patient.waiting_for() == (RUNTIME,)
        neighbour.trouble = None
        await clock.advance(dependencies.RETRY.seconds_max * 2)
        assert waiting.result() == "here I am"


@pytest.mark.parametrize(
    "trouble",
    [
        kube.Unauthorized("who are you?"),
        kube.Forbidden("not you"),
        kube.KubeError("an answer that cannot be read"),
        errors.Untrusted("not its certificate"),
        kube.Invalid("the request is wrong"),
        cri.Unsupported("no such service"),
    ],
    ids=lambda trouble: type(trouble).__name__,
)
async def test_trouble_that_stays_is_raised_at_once(
    trouble: Exception, patient: DependencyWaiter
) -> None:
    neighbour = Neighbour(trouble)
    with pytest.raises(type(trouble)):
        await patient.wait_for("the API server", neighbour.ask)
    assert neighbour.asked == 1


async def test_who_stays_away_is_asked_ever_more_slowly(
    patient: DependencyWaiter, clock: VirtualClock
) -> None:
    neighbour = Neighbour(cri.Unavailable("no socket"))
    async with tasks.started(patient.wait_for(RUNTIME, neighbour.ask)):
        await clock.advance(10)
        assert 3 <= neighbour.asked <= 5
        neighbour.asked = 0
        await clock.advance(600)
        assert 600 / (1.5 * dependencies.RETRY.seconds_max) - 1 <= neighbour.asked <= 45


async def test_the_reason_is_logged_when_waiting_begins_and_then_every_minute(
    patient: DependencyWaiter, clock: VirtualClock
) -> None:
    neighbour = Neighbour(cri.Unavailable("no socket"))
    with capture_logs() as logged:
        async with tasks.started(patient.wait_for(RUNTIME, neighbour.ask)):
            await settle()
            assert [(line["neighbour"], line["error"]) for line in logged] == [
                (RUNTIME, "no socket")
            ]
            neighbour.trouble = cri.Unavailable("it hangs")
            await clock.advance(3 * dependencies.REPORT_SECONDS)
    assert [line["error"] for line in logged] == ["no socket", *["it hangs"] * 3]


async def test_a_neighbour_that_hangs_is_reported_too(
    patient: DependencyWaiter, clock: VirtualClock
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    with capture_logs() as logged:
        async with tasks.started(patient.wait_for(RUNTIME, hang)):
            await clock.advance(dependencies.SILENCE_SECONDS_MAX)
    assert [line["error"] for line in logged] == ["no answer yet"]


async def test_a_neighbour_that_is_there_costs_no_line(
    patient: DependencyWaiter, clock: VirtualClock
) -> None:
    with capture_logs() as logged:
        assert await patient.wait_for(RUNTIME, Neighbour().ask) == "here I am"
        await clock.advance(3600)
    assert logged == []
