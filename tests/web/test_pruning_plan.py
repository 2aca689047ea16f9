"""The lines of a plan file that the page asks for."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lading.kernel.errors import Malformed
from lading.pruning.engine import plan_file
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Saving, Source, What
from lading.web.pruning_plan import PAGE_LINES_MAX, PlanQuery, PlanReader
from lading.web.views import pruning

LINES = PAGE_LINES_MAX + 50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    deletions = tuple(
        Deletion(
            what=What.TAG,
            repository=f"team/app-{number % 2}",
            tag=f"v{number}",
            digest=f"sha256:{number:064x}",
            size_bytes=number,
            because="older than 60m",
        )
        for number in range(LINES)
    )
    header = Header(
        registry="registry.example.com",
        source=Source.REGISTRY,
        planned_at=datetime(2026, 1, 1, tzinfo=UTC),
        deletions=LINES,
        size_bytes=4096,
        by_repository=(Saving("team/app-0", 125, 2048),),
    )
    path = tmp_path / "plan.jsonl"
    with path.open("wb") as target:
        target.writelines(plan_file.lines(PrunePlan(header=header, deletions=deletions)))
    return path


def spoil(file: Path, *, keep: bool = True) -> None:
    """With a line that is no deletion, after the others or alone."""
    with file.open("ab" if keep else "wb") as target:
        target.write(b"{\n")


async def test_lines_come_in_pages(file: Path) -> None:
    found = await PlanReader(file).lines(PlanQuery())
    assert found is not None
    assert (len(found.lines), found.matching) == (PAGE_LINES_MAX, LINES)
    rest = await PlanReader(file).lines(PlanQuery(offset=PAGE_LINES_MAX))
    assert rest is not None
    assert [rest.lines[0].tag, len(rest.lines)] == [f"v{PAGE_LINES_MAX}", 50]


async def test_a_digest_finds_its_line(file: Path) -> None:
    found = await PlanReader(file).lines(PlanQuery(search=f"{7:064x}"))
    assert found is not None
    assert [one.tag for one in found.lines] == ["v7"]


async def test_a_repository_has_its_own_lines(file: Path) -> None:
    found = await PlanReader(file).lines(PlanQuery(repository="team/app-1"))
    assert found is not None
    assert {one.repository for one in found.lines} == {"team/app-1"}
    assert found.matching == LINES // 2


async def test_the_view_has_the_header_and_the_lines(file: Path) -> None:
    reader = PlanReader(file)
    page = pruning.page(await reader.lines(PlanQuery(search="v249")), name=reader.name)
    assert (page["file"], page["deletions"], page["sizeBytes"]) == ("plan.jsonl", LINES, 4096)
    assert page["byRepository"] == [{"name": "team/app-0", "deletions": 125, "sizeBytes": 2048}]
    assert [one["because"] for one in page["lines"]] == ["older than 60m"]


async def test_the_summary_follows_the_file(file: Path) -> None:
    reader = PlanReader(file)
    state, sentence = pruning.summary(await reader.header())
    assert (state, sentence) == (
        "ok",
        "The plan of registry.example.com has 250 deletions and frees 4 KiB.",
    )
    spoil(file, keep=False)
    state, sentence = pruning.summary(await reader.header())
    assert state == "unavailable"
    assert "line 1 is not what `lading prune plan` writes" in sentence


async def test_a_broken_line_is_named(file: Path) -> None:
    spoil(file)
    with pytest.raises(Malformed, match=f"line {LINES + 2} "):
        await PlanReader(file).lines(PlanQuery())
