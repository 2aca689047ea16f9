"""The agent's live figure: counts, bytes, errors and space, from one look at the node."""

from dataclasses import replace

from lading.pinned_images.node import progress
from lading.pinned_images.node.types import Desired, ObservedNodeImages, PullErrorKind
from tests.pinned_images.node import builders


def test_it_counts_images_once_and_bytes_that_are_to_come() -> None:
    desired = Desired(
        node_name="a",
        sets=(builders.image_set("one", "x", "y"), builders.image_set("two", "y", "z")),
    )
    observed = ObservedNodeImages(
        images=builders.present("x"), resolutions=builders.resolved("x", "y", "z", size_mib=10)
    )
    found = progress.progress(desired, observed, builders.NOW)
    assert (found.image_count, found.present_count) == (3, 1)
    assert (found.bytes_wanted, found.bytes_missing) == (30 * builders.MIB, 20 * builders.MIB)


def test_it_names_what_is_missing_and_why() -> None:
    desired = Desired(node_name="a", sets=(builders.image_set("one", "x"),))
    observed = ObservedNodeImages(
        pulls={builders.key("x"): builders.failed(PullErrorKind.NOT_FOUND, message="no such image")}
    )
    (one,) = progress.progress(desired, observed, builders.NOW).sets
    assert one.missing == (builders.key("x").image,)
    (problem,) = one.problems
    assert (problem.reason, problem.image) == ("PrefetchFailed", builders.key("x").image)
    assert "no such image" in problem.message


def test_it_reports_what_a_refused_set_lacks() -> None:
    desired = Desired(node_name="a", sets=(builders.image_set("one", "x"),))
    observed = ObservedNodeImages(
        resolutions=builders.resolved("x", size_mib=10), budget=builders.budget(15, reserve_mib=5)
    )
    found = progress.progress(desired, observed, builders.NOW)
    assert found.storage is not None
    assert found.storage.free_bytes == 15 * builders.MIB
    (problem,) = found.sets[0].problems
    assert problem.reason == "InsufficientStorage"
    assert "must stay free" in problem.message


def test_issue_17_4_a_set_that_is_tried_again_is_pulling() -> None:
    desired = Desired(node_name="a", sets=(builders.image_set("one", "x"),))
    waiting = builders.failed(PullErrorKind.NOT_FOUND, attempts=3)
    for pull, expected in (
        (replace(waiting, running=True), ("Pulling", 1, 3)),
        (waiting, ("Failed", 0, 4)),
    ):
        observed = ObservedNodeImages(pulls={builders.key("x"): pull})
        (one,) = progress.progress(desired, observed, builders.NOW).sets
        assert (one.state, one.pulling, one.attempt) == expected
        assert bool(one.next_try_at) is not pull.running
        assert one.problems
