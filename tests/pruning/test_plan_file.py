"""A plan survives its file, and a file that is no plan is refused by line."""

from typing import Any

import msgspec
import pytest

from lading.kernel.errors import Malformed
from lading.kernel.values import replace
from lading.pruning.engine.decisions import plan_file
from lading.pruning.engine.types import Source
from tests.pruning import builders
from tests.pruning.registry_worlds import GO, SIGNED

PLAN = builders.plan(SIGNED, policy=GO)


def test_a_plan_survives_its_file() -> None:
    header, lines = plan_file.read(plan_file.lines(PLAN))
    assert header == PLAN.header
    assert tuple(lines) == PLAN.deletions


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "line 1 is not"),
        ([b"garbage\n"], "line 1 is not"),
        (
            [
                (
                    b'{"version": "v9", "registry": "r", "source": "registry",'
                    b' "plannedAt": "2026-01-01T00:00:00Z"}'
                )
            ],
            "expected version",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_refused(content: list[bytes], sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        plan_file.read(content)


def test_a_bad_line_is_named() -> None:
    first = next(plan_file.lines(PLAN))
    _, lines = plan_file.read([first, b'{"what": "everything"}'])
    with pytest.raises(Malformed, match="line 2"):
        list(lines)


@pytest.mark.parametrize(
    "change", [{"registry": "other.test"}, {"clusters": ("uid",)}, {"source": Source.STORAGE}]
)
def test_a_plan_of_something_else_is_refused(change: dict[str, Any]) -> None:
    other, here = replace(PLAN.header, **change), PLAN.header
    with pytest.raises(Malformed, match=r"^'[a-z.]+' is not .* the plan is for"):
        plan_file.check_same(
            other, registry=here.registry, source=here.source, clusters=here.clusters
        )


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("repository", "../../../etc"),
        ("repository", "/etc"),
        ("repository", "a\0b"),
        ("tag", "../v1"),
        ("tag", "v1\n"),
        ("digest", "sha256:../.."),
    ],
)
def test_a_line_with_a_name_that_is_none_is_refused(field: str, text: str) -> None:
    header, *_ = plan_file.lines(PLAN)
    line = {"what": "tag", "repository": "a", "tag": "v1", field: text}
    _, lines = plan_file.read([header, msgspec.json.encode(line)])
    with pytest.raises(Malformed, match=f"line 2: expected a valid {field}"):
        tuple(lines)
