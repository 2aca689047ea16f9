"""What is wrong with sets, in the order and the words of the page."""

from typing import Any

import pytest

from lading.api.core import NodeCondition
from lading.api.machineconfiguration.pinned_image_set import (
    PinnedImage,
    PinnedImageSet,
    PinnedImageSetSpec,
)
from lading.kernel.conditions import Truth
from lading.pinned_images.reasons import Reason
from lading.pinned_images.rows import Row, RowState
from lading.web.following import ShownNode, ShownNodeImage, ShownNodeStatus
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


def test_nodes_that_try_again_at_other_times_are_one_problem() -> None:
    times = {"a": "04:00:01Z", "b": "04:00:02Z"}
    found = pins.problems(
        row(node=node, last_error="no room", detail=f"no room; attempt 2 at {time}")
        for node, time in times.items()
    )
    assert [(one.title, one.detail) for one in found] == [("s is not pinned on a, b", "no room")]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ((), "No set names a runtime class; all images are for the default runtime."),
        (("kata",), "1 image of a set is for the runtime class kata."),
        (("kata", "arm"), "1 image of a set is for the runtime classes arm, kata."),
    ],
)
def test_runtime_classes_of_sets_in_a_sentence(names: tuple[str, ...], sentence: str) -> None:
    entry = PinnedImage(name=f"a/b@sha256:{'a' * 64}", runtime_class_names=names)
    one = PinnedImageSet(spec=PinnedImageSetSpec(pinned_images=(entry,)))
    assert pins.runtime_class_summary([one]) == ("ok" if names else "empty", sentence)
    assert [image["runtimeClasses"] for image in pins.set_detail(one)["images"]] == [list(names)]


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        (Reason.INSUFFICIENT_STORAGE, "lading image gc --all"),
        (Reason.NO_SPACE, "lading image gc --all"),
        (Reason.PREFETCH_FAILED, "kubectl edit pinnedimageset s"),
        (Reason.PINNING_FAILED, "lading pin status s --node n"),
    ],
)
def test_an_error_has_the_command_that_would_fix_it_or_else_shows_more(
    reason: str, command: str
) -> None:
    [found] = pins.problems([row(reason=reason)])
    assert found.command == command


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
        ({}, "empty", "2 sets, but no node gets one."),
    ],
)
def test_the_feature_in_a_sentence(counts: dict[RowState, int], state: str, sentence: str) -> None:
    assert pins.summary(counts, 2) == (state, sentence)


def test_without_a_set_there_is_nothing_to_count() -> None:
    assert pins.summary({}, 0) == ("empty", "There is no PinnedImageSet.")


def test_an_open_cell_has_every_figure_that_is_known() -> None:
    one = row(
        state=RowState.PULLING, missing_bytes=5, attempt=2, next_pull_time="2026-01-01T00:00:00Z",
        is_live=True, bytes_done=7, bytes_total=12, bytes_per_second=3,
        ends_at="2026-01-01T00:00:09Z",
    )  # fmt: skip
    found = pins.cell_detail(one, None, None)
    shown = ("missingBytes", "attempt", "nextTry", "bytesDone", "bytesTotal", "bytesPerSecond")
    assert [found[name] for name in shown] == [5, 2, "2026-01-01T00:00:00Z", 7, 12, 3]
    assert (found["isLive"], found["endsAt"]) == (True, "2026-01-01T00:00:09Z")


@pytest.mark.parametrize(
    ("state", "source"), [(RowState.PINNED, "settled"), (RowState.PULLING, "status")]
)
def test_an_open_cell_says_where_its_figures_come_from(state: RowState, source: str) -> None:
    assert pins.cell_detail(row(state=state), None, None)["source"] == source


@pytest.mark.parametrize(
    ("status", "readiness"),
    [(Truth.TRUE, "Ready"), (Truth.FALSE, "NotReady"), (Truth.UNKNOWN, "Unknown")],
)
def test_a_node_has_its_readiness_and_what_its_kubelet_lists(status: Truth, readiness: str) -> None:
    images = (ShownNodeImage(size_bytes=3), ShownNodeImage(size_bytes=4))
    conditions = (NodeCondition(type="Ready", status=status),)
    node = ShownNode(status=ShownNodeStatus(conditions=conditions, images=images))
    found = pins.node_value("n", node, [], "worker")
    assert (found["ready"], found["images"], found["imageBytes"]) == (readiness, 2, 7)
