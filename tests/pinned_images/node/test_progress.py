"""The agent's live figure: counts, bytes, errors and space, from one look at the node."""

from datetime import timedelta

from lading.kernel import conditions
from lading.kernel.values import replace
from lading.pinned_images.node import progress
from lading.pinned_images.node.transfers import Transfer
from lading.pinned_images.node.types import Desired, ObservedNodeImages, Pull, PullErrorKind
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
    assert found.bytes_missing == 20 * builders.MIB


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


def test_a_set_that_is_tried_again_is_pulling() -> None:
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


def test_a_set_counts_its_own_images_and_partial_bytes() -> None:
    """Two sets: one is complete, the other has two pulls of 10 MiB, of which 5 have arrived."""
    desired = Desired(
        node_name="a",
        sets=(builders.image_set("done", "x"), builders.image_set("busy", "y", "z")),
    )
    running = Pull(running=True, attempts=1, new_bytes=10 * builders.MIB)
    observed = ObservedNodeImages(
        images=builders.present("x"),
        resolutions=builders.resolved("x", "y", "z", size_mib=10),
        pulls={builders.key("y"): running, builders.key("z"): running},
        transfer=Transfer(grown_bytes=10 * builders.MIB, grown_bytes_per_second=2 * builders.MIB),
    )
    found = {one.name: one for one in progress.progress(desired, observed, builders.NOW).sets}
    done, busy = found["done"], found["busy"]
    assert (done.present_count, done.image_count) == (1, 1)
    assert (done.bytes_done, done.bytes_total) == (10 * builders.MIB, 10 * builders.MIB)
    assert (done.bytes_per_second, done.ends_at) == (0, "")
    assert (busy.present_count, busy.image_count) == (0, 2)
    assert (busy.bytes_done, busy.bytes_total) == (5 * builders.MIB, 20 * builders.MIB)
    assert busy.bytes_per_second == builders.MIB
    assert busy.ends_at == conditions.timestamp(builders.NOW + timedelta(seconds=15))


def test_a_set_with_an_unknown_size_claims_no_bytes() -> None:
    desired = Desired(node_name="a", sets=(builders.image_set("one", "x", "y"),))
    observed = ObservedNodeImages(resolutions=builders.resolved("x", size_mib=10))
    (one,) = progress.progress(desired, observed, builders.NOW).sets
    assert (one.bytes_done, one.bytes_total, one.ends_at) == (None, None, "")
