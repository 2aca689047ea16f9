"""What prune commands print: oc's sentences and summary, tables of 80 columns."""

import pytest

from lading.cli.output import Format
from lading.cli.prune import report
from lading.pruning.engine.effects.apply import PruneOutcome, Result
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Saving, Source, What
from tests.pruning.builders import NOW, digest

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
    assert report.summary(lines) == expected


def test_sentences_are_those_of_oc() -> None:
    lines = [
        Deletion(what=What.TAG_ITEM, repository="ns/name", tag="a", digest=A),
        Deletion(what=What.TAG_ITEM, repository="ns/name", tag="b", digest=A),
        Deletion(what=What.LAYER_LINK, repository="ns/name", digest=A),
        Deletion(what=What.MANIFEST_LINK, repository="ns/name", digest=A),
        Deletion(what=What.BLOB, digest=A),
        Deletion(what=What.IMAGE, digest=A),
    ]
    assert [*report.sentences(lines)] == [
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
    is_success = report.show_outcomes([outcome], Format.TABLE)
    assert is_success is (result not in (Result.FAILED, Result.REFUSED))
    assert ("because" in capsys.readouterr().err) is (result is not Result.DELETED)


def test_tables_fit_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    savings = (Saving("a-long/" * 30 + "name", 1_000_000, 10**14), Saving("short", 1, 1))
    header = Header(
        registry="r", source=Source.REGISTRY, planned_at=NOW, by_repository=savings, by_rule=savings
    )
    report.show_header(PrunePlan(header=header, deletions=()))
    printed = capsys.readouterr().out
    assert "\n...ong/a-long/" in printed
    assert printed.isascii()
    assert max(map(len, printed.splitlines())) <= 80
