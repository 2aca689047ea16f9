"""What runs report in numbers."""

from datetime import timedelta

from lading.api.imageregistry import PruneRun, PruneRunPhase
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.progress import PruneProgress
from lading.pruning.engine.types import Deletion, Mention, What
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


def reported(progress: PruneProgress, phase: PruneRunPhase, **kept: int) -> PruneRun:
    return runs.run_of(
        progress,
        name="main",
        job=runs.job_of("prune-29-abcde"),
        phase=phase,
        message="",
        figures=RunFigures(kept=kept),
        started_at=NOW,
        now=NOW + timedelta(seconds=90),
    )


def test_a_report_has_at_most_so_many_reasons_and_says_how_far_it_is() -> None:
    progress = PruneProgress()
    progress.begin("listing", 10)
    progress.advance(3)
    reasons = {f"Reason{number:02}": number for number in range(40)}
    found = reported(progress, PruneRunPhase.RUNNING, **reasons)
    assert (found.job, found.message, found.duration_seconds) == (
        "prune-29",
        "listing, 3 of 10",
        90,
    )
    assert len(found.kept) == 32
    ended = reported(progress, PruneRunPhase.SUCCEEDED)
    assert ended.message == "", "a run that has ended is not on its way"


def test_unknown_references_are_counted_and_the_first_objects_are_named() -> None:
    progress = PruneProgress()
    progress.unknown = tuple(Mention("???", f"Pod ns/{number:02}") for number in range(12))
    found = reported(progress, PruneRunPhase.SUCCEEDED)
    assert found.unknown_references == 12
    assert found.unknown_reference_objects == tuple(f"Pod ns/{number:02}" for number in range(10))


def test_only_blobs_free_space_and_every_deletion_releases_it() -> None:
    lines = (
        Deletion(what=What.MANIFEST, repository="a", digest="sha256:1", size_bytes=10),
        Deletion(what=What.BLOB, repository="a", digest="sha256:2", size_bytes=5),
    )
    outcomes = [
        PruneOutcome(line=lines[0], result=Result.DELETED),
        PruneOutcome(line=lines[1], result=Result.DELETED),
        PruneOutcome(line=lines[0], result=Result.FAILED),
    ]
    found = runs.pruned(PruneProgress(), outcomes)
    assert (found.deleted, found.released_bytes, found.freed_bytes) == (2, 15, 5)
