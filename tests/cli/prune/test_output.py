"""What prune commands print: oc's sentences and summary, tables of 80 columns."""

import json
from pathlib import Path

import pytest

from lading.cli.output import Format
from lading.cli.prune import blobs, output
from lading.pruning.engine.effects.outcomes import PruneOutcome, Result
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Saving, Source, What
from tests.pruning.builders import NOW, digest
from tests.pruning.sweep.memory_storage import MemoryStorage
from tests.pruning.sweep.storage_registry import StorageRegistry
from tests.pruning.sweep.worlds import SweepWorld

A = digest("a")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), "Summary: deleted 0 objects"),
        (
            (Deletion(what=What.TAG_ITEM, repository="ns/name", digest=A),),
            "Summary: deleted 1 image stream tag item(s), updated 1 image stream(s)",
        ),
        (
            (
                Deletion(what=What.BLOB, digest=A),
                Deletion(what=What.IMAGE, digest=A),
                Deletion(what=What.LAYER_LINK, repository="n/n", digest=A),
                Deletion(what=What.MANIFEST_LINK, repository="n/n", digest=A),
            ),
            (
                "Summary: deleted 1 image object(s), deleted 1 layer link(s),"
                " deleted 1 manifest link(s), deleted 1 blob(s)"
            ),
        ),
    ],
    ids=["nothing", "H09 an item", "all parts in order"],
)
def test_the_summary_is_that_of_oc(lines: tuple[Deletion, ...], expected: str) -> None:
    assert output.summary(lines) == expected


def test_sentences_are_those_of_oc() -> None:
    lines = [
        Deletion(what=What.TAG_ITEM, repository="ns/name", tag="a", digest=A),
        Deletion(what=What.TAG_ITEM, repository="ns/name", tag="b", digest=A),
        Deletion(what=What.LAYER_LINK, repository="ns/name", digest=A),
        Deletion(what=What.MANIFEST_LINK, repository="ns/name", digest=A),
        Deletion(what=What.BLOB, digest=A),
        Deletion(what=What.IMAGE, digest=A),
    ]
    assert [*output.sentences(lines)] == [
        "Deleting 2 items from image stream ns/name",
        f"Deleting layer link {A} in repository ns/name",
        f"Deleting manifest link {A} in repository ns/name",
        f"Deleting blob {A}",
        f"Deleting image {A}",
    ]


@pytest.mark.parametrize("result", Result)
def test_only_a_failure_or_a_refusal_fails_the_command(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    line = Deletion(what=What.MANIFEST, repository="ns/name", digest=A)
    outcome = PruneOutcome(line=line, result=result, message="because")
    is_success = output.show_outcomes([outcome], Format.TABLE)
    assert is_success is (result not in (Result.FAILED, Result.REFUSED))
    assert ("because" in capsys.readouterr().err) is (result is not Result.DELETED)


def test_tables_fit_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    savings = (Saving("a-long/" * 30 + "name", 1_000_000, 10**14), Saving("short", 1, 1))
    header = Header(
        registry="r", source=Source.REGISTRY, planned_at=NOW, by_repository=savings, by_rule=savings
    )
    output.show_header(PrunePlan(header=header, deletions=()))
    printed = capsys.readouterr().out
    assert "\n...ong/a-long/" in printed
    assert printed.isascii()
    assert max(map(len, printed.splitlines())) <= 80


async def test_a_blob_that_the_registry_still_answers_for_is_reported_as_kept(
    tmp_path: Path,
) -> None:
    storage = MemoryStorage()
    registry = StorageRegistry(storage, has_cache=True)
    world = SweepWorld(storage=storage, replicas=(registry,))
    registry.image("b", "v1")
    digest, free = (registry.upload("a", one) for one in (b"1", b"2"))
    storage.pass_time(hours=25)
    await world.run()
    registry._cache.add(("a", digest))
    storage.pass_time(hours=25)
    blobs.show(await world.run(), Format.JSON, tmp_path / "report")
    lines = [json.loads(line) for line in (tmp_path / "report").read_text().splitlines()]
    found = {line["digest"]: (line["decision"], line["reason"]) for line in lines}
    assert found[digest] == ("keep", "StillAnswered")
    assert found[free] == ("delete", "Unreferenced")
