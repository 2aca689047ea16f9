"""Rows with the answers of agents: what they add, and that they claim nothing."""

from typing import Any

import pytest

from lading.pinned_images import rows
from lading.pinned_images.rows import Row, RowState
from lading.pinned_images.types import Progress, SetProgress

MIB = 1024 * 1024


def row(state: RowState = RowState.PULLING, **more: Any) -> Row:
    values: dict[str, Any] = {
        "images": 4,
        "present": 1,
        "missing_bytes": 90 * MIB,
        "generation": "1/2",
        **more,
    }
    return Row(node="n", pool="p", set="s", state=state, detail="", **values)


def answer(state: str = "Pulling", *, generation: int = 2, name: str = "s") -> dict[str, Progress]:
    one = SetProgress(
        name=name,
        generation=generation,
        state=state,
        pulling=2,
        attempt=3,
        next_try_at="",
        image_count=4,
        present_count=2,
        bytes_done=70 * MIB,
        bytes_total=100 * MIB,
        bytes_per_second=5 * MIB,
        ends_at="2026-01-01T00:00:06Z",
        missing=(),
        problems=(),
    )
    found = Progress(
        node="n",
        message="",
        image_count=4,
        present_count=2,
        bytes_missing=None,
        sets=(one,),
        pulls=(),
        storage=None,
    )
    return {"n": found}


def test_a_row_has_the_bytes_the_rate_and_the_end_of_its_agent() -> None:
    (found,) = rows.with_progress([row()], answer())
    assert (found.present, found.images, found.attempt) == (2, 4, 3)
    assert (found.bytes_done, found.bytes_total, found.missing_bytes) == (
        70 * MIB,
        100 * MIB,
        30 * MIB,
    )
    assert (found.bytes_per_second, found.ends_at) == (5 * MIB, "2026-01-01T00:00:06Z")
    assert found.is_live


def test_a_row_that_failed_is_pulling_when_its_agent_is() -> None:
    (found,) = rows.with_progress([row(RowState.FAILED)], answer())
    assert found.state is RowState.PULLING


@pytest.mark.parametrize("state", ["Pinned", "Pinning", "Failed"])
def test_an_agent_makes_no_row_pinned(state: str) -> None:
    (found,) = rows.with_progress([row()], answer(state))
    assert found.state is RowState.PULLING


@pytest.mark.parametrize(
    ("one", "answers"),
    [
        (row(RowState.PINNED), answer()),
        (row(RowState.WAITING), answer()),
        (row(), answer(generation=1)),
        (row(), answer(name="another")),
        (row(), {}),
    ],
)
def test_a_row_stays_as_reported(one: Row, answers: dict[str, Progress]) -> None:
    assert rows.with_progress([one], answers) == [one]


def test_only_nodes_that_are_not_done_are_asked_and_not_too_many() -> None:
    assert rows.nodes_to_ask([row(RowState.PINNED), row(RowState.NO_NODES, generation="-")]) == []
    assert rows.nodes_to_ask([row(), row(RowState.FAILED)]) == ["n"]
