"""The lines of a plan file that the page asks for."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lading.api.imageregistry import StoredImagePruner
from lading.kernel.errors import Malformed
from lading.kernel.objects import ObjectMeta
from lading.pruning.engine.decisions import plan_file
from lading.pruning.engine.types import Deletion, Header, PrunePlan, Saving, Source, What
from lading.web import pruning_plan
from lading.web.pruning_plan import PAGE_LINES_MAX, PlanQuery, PlanReader
from lading.web.views import pruning
from lading.web.views.wording import Urgency
from tests.pruning.builders import digest
from tests.web.plans import write_contents

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
        by_rule=(Saving("older than 60m", LINES, 4096),),
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


@pytest.mark.parametrize(
    ("search", "matching"),
    [
        pytest.param(f"{7:064x}", 1, id="a digest finds its line"),
        pytest.param("v249", 1, id="a tag finds its line"),
        pytest.param("app-1", LINES // 2, id="a part of a repository finds its lines"),
        pytest.param("notretained", LINES, id="a rule finds its lines"),
        pytest.param("nothing", 0, id="what no line has finds none"),
    ],
)
async def test_lines_are_searched(file: Path, search: str, matching: int) -> None:
    found = await PlanReader(file).lines(PlanQuery(search=search))
    assert found is not None
    assert found.matching == matching


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
    assert [(one["name"], one["deletions"]) for one in page["byRule"]] == [
        ("older than 60m", LINES)
    ]
    assert [one["because"] for one in page["lines"]] == ["older than 60m"]


async def test_the_summary_follows_the_file(file: Path) -> None:
    reader = PlanReader(file)
    state, sentence = pruning.summary(await reader.header(), (), "No kind.")
    assert (state, sentence) == (
        "ok",
        "No kind. The plan of registry.example.com has 250 deletions and frees 4 KiB.",
    )
    spoil(file, keep=False)
    state, sentence = pruning.summary(await reader.header(), (), "No kind.")
    assert state == "unavailable"
    assert "line 1 is not what `lading prune plan` writes" in sentence


async def test_a_broken_line_is_named(file: Path) -> None:
    spoil(file)
    with pytest.raises(Malformed, match=f"line {LINES + 2} "):
        await PlanReader(file).lines(PlanQuery())


async def test_a_plan_that_comes_later_is_none_until_it_is_there(tmp_path: Path) -> None:
    reader = PlanReader(tmp_path / "plan.jsonl", comes_later=True)
    assert (await reader.header(), await reader.lines(PlanQuery())) == (None, None)
    assert (reader.name, await reader.contents()) == ("", None)
    write_contents(tmp_path / "plan.jsonl")
    assert isinstance(await reader.header(), Header)
    assert await reader.contents() is not None


async def test_a_plan_is_walked_from_the_repository_to_the_blob(tmp_path: Path) -> None:
    found = await PlanReader(write_contents(tmp_path / "plan.jsonl")).contents()
    assert found is not None
    overview = pruning.overview(found)
    assert overview["repositories"] == [
        {"name": "team/app", "tags": 1, "tagsThatGo": 0, "manifests": 4, "manifestsThatGo": 0}
    ]
    assert overview["kept"] == {"Reachable": 4, "Used": 1}
    repository = pruning.repository(found, "team/app")
    assert repository is not None
    [first] = repository["tags"]
    assert (first["name"], first["digest"], first["decision"], first["reason"]) == (
        "v1", digest("outer"), "keep", "Used",
    )  # fmt: skip
    outer = pruning.explained(found, digest("outer"))
    assert outer is not None
    assert [one["digest"] for one in outer["parts"]] == [digest("inner")]
    blob = pruning.explained(found, digest("l"))
    assert blob is not None
    assert blob["chains"][0][-2:] == ["tag team/app:v1", "tag is used by Pod foo/web"]
    assert pruning.explained(found, digest("nothing")) is None
    assert pruning.repository(found, "other") is None


async def test_what_goes_is_counted_in_its_repository(tmp_path: Path) -> None:
    found = await PlanReader(write_contents(tmp_path / "plan.jsonl", is_used=False)).contents()
    assert found is not None
    assert pruning.overview(found)["repositories"] == [
        {"name": "team/app", "tags": 1, "tagsThatGo": 1, "manifests": 4, "manifestsThatGo": 4}
    ]


async def test_contents_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning_plan, "CONTENTS_BYTES_MAX", 100)
    reader = PlanReader(write_contents(tmp_path / "plan.jsonl"))
    assert isinstance(await reader.header(), Header)
    with pytest.raises(Malformed, match="too large to be shown here"):
        await reader.contents()


async def test_contents_are_read_again_when_the_file_changes(tmp_path: Path) -> None:
    reader = PlanReader(write_contents(tmp_path / "plan.jsonl"))
    first = await reader.contents()
    assert await reader.contents() is first
    os.utime(write_contents(tmp_path / "plan.jsonl"), ns=(1, 1))
    assert await reader.contents() is not first


PASSWORD = "correct-horse-battery"


def pruner(**status: Any) -> StoredImagePruner:
    return StoredImagePruner(
        metadata=ObjectMeta(name="cluster"),
        spec={"schedule": "@daily", "suspend": False},
        status=status,
    )


def test_runs_are_shown_with_what_they_freed_and_kept() -> None:
    run = {"name": "local", "phase": "Succeeded", "deleted": 2, "freedBytes": 2048,
           "kept": {"Used": 3}, "message": f"token: {PASSWORD}"}  # fmt: skip
    value = pruning.pruner_value(pruner(lastRun=[run], lastSuccessTime="2026-01-01T00:00:00Z"))
    [shown] = value["runs"]
    assert (shown["freedBytes"], shown["kept"]) == (2048, {"Used": 3})
    assert PASSWORD not in str(value)
    assert pruning.summary(None, [pruner(lastRun=[run])], "") == (
        "ok",
        "The last run (Succeeded) made 2 deletions and freed 2 KiB.",
    )
    assert pruning.problems([pruner(lastRun=[run])]) == []


def test_a_failed_job_and_unreadable_references_are_problems() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "JobFailed", "message": "no room",
              "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
    run = {"name": "local", "phase": "Failed", "unknownReferences": 1,
           "unknownReferenceObjects": ["Pod a/b"]}  # fmt: skip
    one = pruner(conditions=[failed], lastRun=[run], lastJob="image-pruner-1")
    first, second = pruning.problems([one])
    assert (first.urgency, first.detail) == (Urgency.ERROR, "no room")
    assert (second.urgency, second.detail) == (Urgency.WARNING, "Pod a/b")
    assert pruning.summary(None, [one], "")[0] == "error"


def test_a_status_of_another_owner_is_shown_as_far_as_it_can_be_read() -> None:
    value = pruning.pruner_value(pruner(conditions="x", lastRun={"a": 1}, schedule=7))
    assert (value["conditions"], value["runs"], value["schedule"]) == ([], [], "@daily")
    assert pruning.summary(None, [], "") == ("empty", "There is no ImagePruner.")


def test_a_pruner_has_its_times_and_whether_it_is_suspended() -> None:
    one = StoredImagePruner(
        metadata=ObjectMeta(name="cluster"),
        spec={"suspend": True},
        status={
            "nextScheduleTime": "2026-01-02T00:00:00Z", "lastSuccessTime": "2026-01-01T00:00:00Z",
            "lastJob": "image-pruner-1", "lastJobEndTime": "2026-01-01T00:00:01Z",
        },
    )  # fmt: skip
    value = pruning.pruner_value(one)
    assert (value["nextTime"], value["lastSuccess"]) == (
        "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z",
    )  # fmt: skip
    assert (value["lastJob"], value["lastJobEnd"]) == ("image-pruner-1", "2026-01-01T00:00:01Z")
    assert value["isSuspended"]
    assert pruning.summary(None, [one], "") == ("empty", "Suspended: no Job starts.")
    assert pruning.summary(None, [pruner()], "") == ("empty", "No Job has reported yet.")
