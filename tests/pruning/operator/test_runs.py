"""What runs report in numbers."""

from datetime import timedelta

from lading.api.imageregistry import PruneRunPhase
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.operator import runs
from lading.pruning.operator.runs import RunFigures
from tests.pruning.operator.pruner_worlds import NOW
from tests.pruning.sweep.worlds import SweepWorld


async def test_a_sweep_reports_what_it_condemns_and_then_what_it_frees() -> None:
    world = SweepWorld()
    world.registry.image("a", "v1")
    world.registry.upload("a", b"orphan")
    world.storage.pass_time(hours=25)
    assert runs.swept(await world.run()) == RunFigures(
        candidates=1, deleted=0, released_bytes=6, freed_bytes=0, kept={"Needed": 3}
    )
    world.storage.pass_time(hours=1)
    waiting = runs.swept(await world.run())
    assert (waiting.candidates, waiting.kept) == (0, {"Needed": 3, "Waiting": 1})
    world.storage.pass_time(hours=24)
    assert runs.swept(await world.run()) == RunFigures(
        candidates=1, deleted=1, released_bytes=6, freed_bytes=6, kept={"Needed": 3}
    )


def test_a_report_has_at_most_so_many_reasons_and_says_how_far_it_is() -> None:
    progress = PruneProgress()
    progress.begin("listing", 10)
    progress.advance(3)
    found = runs.run_of(
        progress,
        name="main",
        job=runs.job_of("prune-29-abcde"),
        phase=PruneRunPhase.RUNNING,
        message="",
        figures=RunFigures(kept={f"Reason{number:02}": number for number in range(40)}),
        started_at=NOW,
        now=NOW + timedelta(seconds=90),
    )
    assert (found.job, found.message, found.duration_seconds) == (
        "prune-29",
        "listing, 3 of 10",
        90,
    )
    assert len(found.kept) == 32
