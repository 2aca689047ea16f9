"""`lading sim`: the whole system under seeds, in virtual time, with faults."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import click

from lading.embedded.sim import report, shrinking, simulation
from lading.embedded.sim.checkers import KNOWN_FAULTS
from lading.embedded.sim.schedule import SCENARIOS, Life
from lading.embedded.sim.simulation import Outcome
from lading.kernel.values import replace


@click.command(name="sim")
@click.option(
    "--seeds", type=click.IntRange(1), default=20, show_default=True, help="How many seeds to run."
)
@click.option("--first", type=click.IntRange(0), default=0, help="The first seed of --seeds.")
@click.option("--seed", default="", help="Run only this seed, and print its trace hash.")
@click.option(
    "--nodes", type=click.IntRange(1), default=3, show_default=True, help="Nodes at the start."
)
@click.option(
    "--minutes",
    type=click.FloatRange(0.5),
    default=Life().trouble_seconds / 60,
    show_default=True,
    help="Virtual minutes with changes and faults; then everything must converge.",
)
@click.option(
    "--scenario",
    type=click.Choice(sorted(SCENARIOS)),
    default="everyday",
    show_default=True,
    help="What is drawn: changes by users, faults, or both.",
)
@click.option(
    "--timeline",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the timeline of the first failure to this HTML file.",
)
def command(
    seeds: int,
    first: int,
    seed: str,
    nodes: int,
    minutes: float,
    scenario: str,
    timeline: Path | None,
) -> None:
    """Run a simulated cluster under seeds: real code, virtual time, faults, and checked promises.

    The same seed gives the same run. A seed that breaks a promise is printed with the shortest
    schedule that still breaks it.
    """
    life = replace(SCENARIOS[scenario], nodes=nodes, trouble_seconds=minutes * 60)
    names = [seed] if seed else [str(number) for number in range(first, first + seeds)]
    began, virtual = time.monotonic(), 0.0
    known: Counter[str] = Counter()
    for outcome in _outcomes(names, life):
        virtual += outcome.virtual_seconds
        known.update(outcome.known)
        if outcome.broken:
            _fail(outcome, life, scenario, timeline)
        if seed:
            click.echo(f"Seed {seed}: trace {outcome.trace_hash}")
    spent = time.monotonic() - began
    click.echo(
        f"{len(names)} seeds, {virtual / 3600:.1f} virtual hours in {spent:.1f} s:"
        f" {'no other promise' if known else 'no promise'} is broken."
    )
    for fault, count in sorted(known.items()):
        click.echo(f"Known fault, seen with {count} seeds: {fault}. {KNOWN_FAULTS[fault]}")


def _outcomes(names: list[str], life: Life) -> Iterator[Outcome]:
    run = partial(simulation.run, life=life)
    if len(names) == 1:
        yield run(names[0])
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, names)


def _fail(outcome: Outcome, life: Life, scenario: str, timeline: Path | None) -> None:
    short = shrinking.shrunk(outcome, life)
    again = (
        f"lading sim --seed {outcome.seed} --nodes {life.nodes}"
        f" --minutes {life.trouble_seconds / 60:g} --scenario {scenario}"
    )
    click.echo(report.page(short, again=again))
    if timeline is not None:
        timeline.write_text(report.timeline(short), encoding="utf-8")
        click.echo(f"Timeline: {timeline}")
    raise click.exceptions.Exit(1)
