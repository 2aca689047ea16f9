"""One event loop, several processes, and no machine."""

import asyncio
import random

import pytest

from lading.embedded.sim.event_loop import Endless, SimulatedLoop
from lading.embedded.sim.network import Network
from lading.embedded.sim.processes import Process
from lading.embedded.sim.trace import Trace


@pytest.fixture
def loop() -> SimulatedLoop:
    rng = random.Random(1)
    return SimulatedLoop(rng, Network(rng, Trace()))  # type: ignore[abstract]


def test_time_jumps_to_the_next_timer(loop: SimulatedLoop) -> None:
    loop.run_until_complete(loop.start(loop.outside, asyncio.sleep(3600)))
    assert loop.time() == 3600


def test_a_killed_process_runs_nothing_any_more_not_even_its_clean_up(loop: SimulatedLoop) -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
            said.append("worked")
        finally:
            said.append("cleaned up")

    async def main() -> None:
        process = Process("victim")
        loop.start(process, work())
        await asyncio.sleep(1)
        loop.kill(process)
        await asyncio.sleep(100)
        assert said == []

    loop.run_until_complete(loop.start(loop.outside, main()))


def test_a_paused_process_goes_on_where_it_was(loop: SimulatedLoop) -> None:
    said: list[float] = []

    async def work() -> None:
        await asyncio.sleep(1)
        said.append(loop.time())

    async def main() -> None:
        process = Process("slow")
        loop.start(process, work())
        loop.pause(process)
        await asyncio.sleep(50)
        assert said == []
        loop.resume(process)
        await asyncio.sleep(50)

    loop.run_until_complete(loop.start(loop.outside, main()))
    assert said == [51]


def test_the_seed_decides_which_process_is_next() -> None:
    def order(seed: int) -> str:
        rng, said = random.Random(seed), []
        loop = SimulatedLoop(rng, Network(rng, Trace()))  # type: ignore[abstract]

        async def work(letter: str) -> None:
            for _ in range(10):
                said.append(letter)
                await asyncio.sleep(0)

        for letter in "ab":
            loop.start(Process(letter), work(letter))
        loop.run_until_complete(loop.start(loop.outside, asyncio.sleep(1)))
        return "".join(said)

    assert order(1) == order(1) != order(2) == order(2)


def test_a_task_that_never_waits_is_an_error(
    loop: SimulatedLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lading.embedded.sim.event_loop.TURNS_WITHOUT_TIME_MAX", 1000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the fault that the test is about
            await asyncio.sleep(0)

    with pytest.raises(Endless, match="1001 callbacks"):
        loop.run_until_complete(loop.start(loop.outside, spin()))
    loop.close()
