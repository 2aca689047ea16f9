"""Runs one seed: a time of trouble, then everything heals and must converge, then be quiet."""

import asyncio
import gc
import itertools
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from lading.embedded.sim import images, schedule, steps
from lading.embedded.sim.checkers import Checkers
from lading.embedded.sim.event_loop import Endless
from lading.embedded.sim.schedule import Life, Step
from lading.embedded.sim.trace import Event
from lading.embedded.sim.world import World

CONVERGE_SECONDS_MAX = 600.0
"""A pull is retried after at most 400 s, and a node looks again after 120 s."""
CONVERGE_POLL_SECONDS = 5.0
SETTLE_SECONDS = 130.0
QUIET_SECONDS = 130.0
"""Longer than the time after which an agent compares its node again."""
PINS_SECONDS = 5.0
RUNS_PER_COLLECTION = 10
_runs = itertools.count()
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    seed: str
    broken: tuple[str, ...]
    """Broken promises, the first one first."""
    known: frozenset[str]
    """The `KNOWN_FAULTS` that were seen."""
    schedule: tuple[Step, ...]
    trace_hash: str
    events: tuple[Event, ...]
    virtual_seconds: float
    turns: int


def run(seed: str, life: Life, script: tuple[Step, ...] | None = None) -> Outcome:
    """Runs the schedule of the seed, or another one with the chances of the seed."""
    script = schedule.drawn(seed, life) if script is None else script
    with _folder() as folder, _without_garbage_collection(), _silent():
        world = World(seed, folder)
        checkers = Checkers(world)
        main = world.loop.start(world.loop.outside, _live(world, checkers, life, script))
        try:
            world.loop.run_until_complete(main)
        except Endless as error:
            checkers.report(str(error))
        checkers.check_processes()
        world.close()
        return Outcome(
            seed=seed,
            broken=tuple(checkers.found),
            known=frozenset(checkers.known),
            schedule=script,
            trace_hash=world.trace.digest(),
            events=tuple(world.trace.events) if checkers.found else (),
            virtual_seconds=world.loop.time(),
            turns=world.loop.turns,
        )


async def _live(world: World, checkers: Checkers, life: Life, script: tuple[Step, ...]) -> None:
    for number in range(images.COUNT):
        images.push(world.registry, f"app-{number}")
    await world.open(schedule.node_names(life))
    await steps.make_pools(world)
    watching = asyncio.create_task(_check_pins(checkers))
    running = []
    for step in script:
        await asyncio.sleep(max(0.0, step.at_seconds - world.loop.time()))
        running.append(asyncio.create_task(steps.carry_out(world, step)))
        if checkers.found:
            break
    await asyncio.sleep(max(0.0, life.trouble_seconds - world.loop.time()))
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await steps.heal(world)
    if not checkers.found:
        await _converge(world, checkers)
    watching.cancel()


async def _check_pins(checkers: Checkers) -> None:
    while True:
        await asyncio.sleep(PINS_SECONDS)
        checkers.check_pins()


async def _converge(world: World, checkers: Checkers) -> None:
    until = world.loop.time() + CONVERGE_SECONDS_MAX
    while (missing := checkers.unconverged()) and world.loop.time() < until:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(CONVERGE_POLL_SECONDS)
    if missing:
        checkers.report(f"not as wanted {CONVERGE_SECONDS_MAX:g} s after all faults: {missing}")
        return
    await asyncio.sleep(SETTLE_SECONDS)
    writes = checkers.writes
    await asyncio.sleep(QUIET_SECONDS)
    if checkers.writes != writes:
        checkers.report(
            f"{checkers.writes - writes} writes in {QUIET_SECONDS:g} s of a steady cluster"
        )
    if missing := checkers.unconverged():
        checkers.report(f"converged, and then not any more: {missing}")


@contextmanager
def _folder() -> Iterator[Path]:
    """In memory, where the machine has such a folder: stores flush often."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="lading-sim-", dir=place) as name:
        yield Path(name)


@contextmanager
def _silent() -> Iterator[None]:
    """Faults fill logs; the trace tells what happened."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        logging.disable(before)
        structlog.reset_defaults()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """It would run finalizers at moments that no seed decides."""
    was_on = gc.isenabled()
    gc.disable()
    if not next(_runs) % RUNS_PER_COLLECTION:
        gc.collect()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
