"""What is wrong with sets, in the order and the words of the page."""

from typing import Any

import pytest

from lading.pinned_images.rows import Row, RowState
from lading.web.views import pins
from lading.web.views.pins import PROBLEMS_MAX


def row(**fields: Any) -> Row:
    defaults: dict[str, Any] = {
        "node": "n", "pool": "worker", "set": "s", "generation": "-/1", "state": RowState.FAILED,
        "images": 1, "present": 0, "missing_bytes": 0, "detail": "no room",
    }  # fmt: skip
    return Row(**{**defaults, **fields})


def test_what_several_nodes_report_alike_is_one_problem() -> None:
    found = pins.problems([row(node=f"n{number}") for number in range(5)])
    assert [one.title for one in found] == ["s is not pinned on n0, n1, n2 and 2 more nodes"]
    assert found[0].command == "lading pin status s"


def test_errors_come_before_nodes_that_are_silent_and_sets_without_nodes() -> None:
    found = pins.problems(
        [
            row(node="", state=RowState.NO_NODES, detail="no pool selects this set"),
            row(state=RowState.WAITING, detail="the agent does not report"),
            row(state=RowState.FAILED),
            row(state=RowState.PULLING),
            row(state=RowState.PINNED, detail=""),
        ]
    )
    assert [one.urgency.name for one in found] == ["ERROR", "WARNING", "NOTE"]


def test_a_set_that_the_controller_does_not_see_leads_to_the_controller() -> None:
    [found] = pins.problems([row(node="", state=RowState.WAITING)])
    assert found.command.endswith("component=controller")


def test_there_is_a_limit_of_problems_and_the_largest_groups_stay() -> None:
    many = [row(detail=f"error {number}") for number in range(2 * PROBLEMS_MAX)]
    same = [row(node=f"m{number}", detail="the same") for number in range(2)]
    found = pins.problems([*many, *same])
    assert len(found) == PROBLEMS_MAX
    assert found[0].detail == "the same"


def test_two_reasons_are_two_problems_with_keys_of_their_own() -> None:
    found = pins.problems([row(detail="one"), row(detail="two")])
    assert len({one.key for one in found}) == 2


@pytest.mark.parametrize(
    ("counts", "state", "sentence"),
    [
        ({RowState.PINNED: 4}, "ok", "4 of 4 pairs of node and set are pinned."),
        (
            {RowState.PINNED: 3, RowState.PULLING: 1},
            "busy",
            "3 of 4 pairs of node and set are pinned, 1 pulling.",
        ),
        (
            {RowState.PULLING: 1, RowState.FAILED: 1},
            "error",
            "0 of 2 pairs of node and set are pinned, 1 failed, 1 pulling.",
        ),
        ({}, "empty", "2 sets, and no node must hold one."),
    ],
)
def test_the_feature_in_a_sentence(counts: dict[RowState, int], state: str, sentence: str) -> None:
    assert pins.summary(counts, 2) == (state, sentence)


def test_without_a_set_there_is_nothing_to_count() -> None:
    assert pins.summary({}, 0) == ("empty", "There is no PinnedImageSet.")
