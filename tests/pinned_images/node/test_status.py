"""What a node reports: never more than it observed, and slow is not failed."""

from datetime import timedelta
from typing import Any

import pytest

from lading.kernel import conditions
from lading.kernel.planning import RecordEvent
from lading.kernel.values import replace
from lading.pinned_images.node.status import ERROR_BYTES_MAX
from lading.pinned_images.node.types import (
    PastPulls,
    PullErrorKind,
    WritePins,
    WriteStatus,
)
from lading.pinned_images.reasons import ConditionType, Reason
from tests.pinned_images.node.builders import (
    MIB,
    NOW,
    RUNNING,
    actions_of,
    budget,
    events_of,
    failed,
    image_set,
    key,
    observed,
    pinned,
    planned,
    status_of,
    truth,
    written,
)


def test_a_pinned_set_shows_its_generation() -> None:
    plan = planned([image_set("s", "a", generation=3)], observed("a", pins=pinned("a", by="s")))
    status = status_of(plan)
    (entry,) = status.pinned_image_sets
    assert (entry.current_generation, entry.desired_generation) == (3, 3)
    assert truth(status, ConditionType.SETS_PROGRESSING) == ("False", "AsExpected")
    assert truth(status, ConditionType.SETS_DEGRADED) == ("False", "AsExpected")
    assert events_of(plan) == [("s", "Pinned")]


def test_images_that_are_here_but_not_pinned_do_not_count_as_done() -> None:
    """OpenShift's daemon wrote its file and never asked whether the runtime took it."""
    for pins in ((), pinned("a", by="s", effective=False), pinned("a", by="other")):
        status = status_of(planned([image_set("s", "a")], observed("a", pins=pins)))
        assert status.pinned_image_sets[0].current_generation == 0
        assert truth(status, ConditionType.SETS_PROGRESSING) == ("True", "ImagePrefetch")


def test_slow_is_progressing_and_not_degraded() -> None:
    """OpenShift's daemon reported a round that ran out of time as a failure."""
    seen = observed("a", known=["b"], pulls={key("b"): RUNNING})
    status = status_of(planned([image_set("s", "a", "b")], seen, now=NOW + timedelta(hours=1)))
    assert truth(status, ConditionType.SETS_DEGRADED) == ("False", "AsExpected")
    progressing = conditions.find(status.conditions, ConditionType.SETS_PROGRESSING)
    assert progressing is not None
    assert progressing.message == (
        "1 of 2 images are on the node, 10 MiB of 20 MiB to pull, 1 being pulled"
    )


def test_bytes_are_reported_only_when_the_size_of_all_that_is_missing_is_known() -> None:
    status = status_of(planned([image_set("s", "a", "b", "c")], observed("a", known=["b"])))
    progressing = conditions.find(status.conditions, ConditionType.SETS_PROGRESSING)
    assert progressing is not None
    assert progressing.message == "1 of 3 images are on the node"


def test_a_passing_failure_degrades_only_when_it_lasts() -> None:
    for attempts, expected in ((1, "False"), (3, "True")):
        pull = failed(PullErrorKind.UNAVAILABLE, attempts=attempts)
        seen = observed(known=["a"], pulls={key("a"): pull})
        status = status_of(planned([image_set("s", "a")], seen))
        assert truth(status, ConditionType.SETS_DEGRADED)[0] == expected


def test_an_attempt_that_runs_has_not_failed_yet() -> None:
    twice = replace(failed(PullErrorKind.UNAVAILABLE, attempts=3), running=True)
    status = status_of(
        planned([image_set("s", "a")], observed(known=["a"], pulls={key("a"): twice}))
    )
    assert truth(status, ConditionType.SETS_DEGRADED) == ("False", "AsExpected")


def test_the_last_good_generation_and_the_last_error_survive_a_retry() -> None:
    """OpenShift's daemon dropped both each time it began to try again."""
    good = status_of(
        planned([image_set("s", "a", generation=1)], observed("a", pins=pinned("a", by="s")))
    )
    new = image_set("s", "a", "b", generation=2)
    seen = observed("a", known=["b"], pins=pinned("a", by="s"), last_status=good)
    gone = failed(PullErrorKind.NOT_FOUND, message="no such image")
    bad = status_of(planned([new], replace(seen, pulls={key("b"): gone})))
    retried = replace(seen, pulls={key("b"): RUNNING}, last_status=bad)
    (entry,) = status_of(planned([new], retried)).pinned_image_sets
    assert entry.current_generation == 1
    assert entry.last_failed_generation == 2
    assert "no such image" in entry.last_failed_generation_errors[0]


def test_success_clears_the_error() -> None:
    bad = status_of(
        planned(
            [image_set("s", "a")],
            observed(known=["a"], pulls={key("a"): failed(PullErrorKind.NOT_FOUND)}),
        )
    )
    healed = observed("a", pins=pinned("a", by="s"), last_status=bad)
    (entry,) = status_of(planned([image_set("s", "a")], healed)).pinned_image_sets
    assert entry.last_failed_generation == 0
    assert entry.last_failed_generation_errors == ()


def test_nothing_is_written_while_there_is_no_object() -> None:
    plan = planned([image_set("s", "a")], observed("a", status_is_wanted=False))
    assert actions_of(plan, WriteStatus) == []
    assert events_of(plan) == []


def test_a_steady_node_writes_nothing() -> None:
    seen = observed("a", pins=pinned("a", by="s"))
    first = planned([image_set("s", "a")], seen)
    steady = observed("a", pins=pinned("a", by="s"), last_status=status_of(first))
    second = planned([image_set("s", "a")], steady, now=NOW + timedelta(days=1))
    assert second.actions == ()


def test_progress_is_written_at_most_every_thirty_seconds() -> None:
    sets = [image_set("s", "a", "b")]
    first = status_of(planned(sets, observed(known=["a", "b"])))
    more: dict[str, Any] = {"known": ["b"], "last_status": first, "status_at": NOW}
    early = planned(sets, observed("a", **more), now=NOW + timedelta(seconds=10))
    assert actions_of(early, WriteStatus) == []
    assert early.recheck_at == NOW + timedelta(seconds=30)
    due = planned(sets, observed("a", **more), now=NOW + timedelta(seconds=30))
    assert len(actions_of(due, WriteStatus)) == 1


def test_a_new_error_does_not_wait_for_the_thirty_seconds() -> None:
    sets = [image_set("s", "a")]
    first = status_of(planned(sets, observed(known=["a"])))
    pulls = {key("a"): failed(PullErrorKind.UNAUTHORIZED)}
    seen = observed(known=["a"], pulls=pulls, last_status=first, status_at=NOW)
    plan = planned(sets, seen, now=NOW + timedelta(seconds=1))
    assert truth(status_of(plan), ConditionType.SETS_DEGRADED) == ("True", "PrefetchFailed")
    assert events_of(plan) == [("s", "PrefetchFailed")]


def test_a_runtime_that_cannot_pin_is_reported_and_nothing_is_claimed() -> None:
    seen = observed("a", cannot_pin="containerd 1.6.20 ignores pins; 1.6.25 or later honours them")
    status = status_of(planned([image_set("s", "a")], seen))
    assert truth(status, ConditionType.SETS_DEGRADED) == ("True", Reason.CANNOT_PIN)
    assert status.pinned_image_sets[0].current_generation == 0


def test_a_pin_that_the_runtime_does_not_take_is_reported() -> None:
    pins = pinned("a", by="s", effective=False)
    status = status_of(planned([image_set("s", "a")], observed("a", pins=pins, pins_at=NOW)))
    assert truth(status, ConditionType.SETS_DEGRADED) == ("True", Reason.PIN_NOT_TAKEN)


def test_a_kubelet_that_ignores_pins_is_named() -> None:
    seen = observed("a", pins=pinned("a", by="s"), pins_ignored="kubelet 1.26.1 ignores pins")
    status = status_of(planned([image_set("s", "a")], seen))
    assert truth(status, ConditionType.SETS_DEGRADED) == ("True", Reason.PINS_IGNORED)
    assert status.pinned_image_sets[0].current_generation == 1


def test_at_most_ten_errors_are_kept_and_each_names_its_image() -> None:
    images = [f"i{number}" for number in range(20)]
    pulls = {key(name): failed(PullErrorKind.NOT_FOUND) for name in images}
    status = status_of(planned([image_set("s", *images)], observed(known=images, pulls=pulls)))
    errors = status.pinned_image_sets[0].last_failed_generation_errors
    assert len(errors) == 10
    assert all("registry.example/i" in error for error in errors)


def test_a_long_error_is_cut() -> None:
    pulls = {key("a"): failed(PullErrorKind.NOT_FOUND, message="x" * 5_000)}
    status = status_of(planned([image_set("s", "a")], observed(known=["a"], pulls=pulls)))
    (error,) = status.pinned_image_sets[0].last_failed_generation_errors
    assert len(error.encode()) == ERROR_BYTES_MAX


def test_a_set_that_went_leaves_the_status_when_its_pins_are_gone() -> None:
    before = status_of(planned([image_set("s", "a")], observed("a", pins=pinned("a", by="s"))))
    still = planned([], observed("a", pins=pinned("a", by="s"), last_status=before))
    assert actions_of(still, WritePins) == []
    withdrawn = status_of(still)
    assert [(one.name, one.current_generation) for one in withdrawn.pinned_image_sets] == [("s", 0)]
    released = planned([], observed("a", pins=pinned("a", by="s"), last_status=withdrawn))
    assert len(actions_of(released, WritePins)) == 1
    assert actions_of(released, WriteStatus) == []
    gone = planned([], observed("a", last_status=withdrawn))
    assert status_of(gone).pinned_image_sets == ()
    assert events_of(gone) == [("s", "Unpinned")]


def test_pins_of_a_set_that_went_and_cannot_be_removed_are_reported() -> None:
    before = status_of(planned([image_set("s", "a")], observed("a", pins=pinned("a", by="s"))))
    seen = observed("a", pins=pinned("a", by="s"), pins_error="read-only", last_status=before)
    status = status_of(planned([], seen))
    assert truth(status, ConditionType.SETS_DEGRADED) == ("True", Reason.PINNING_FAILED)
    assert [entry.name for entry in status.pinned_image_sets] == ["s"]


def test_a_runtime_class_that_does_not_exist_fails_its_set_only() -> None:
    bad = image_set("s", "a", unresolvable=("runtime class 'kata' does not exist",))
    plan = planned([bad, image_set("t", "b")], observed("a", "b", pins=pinned("b", by="t")))
    (first, second) = status_of(plan).pinned_image_sets
    assert first.last_failed_generation_errors == ("runtime class 'kata' does not exist",)
    assert second.current_generation == 1


@pytest.mark.parametrize("generation_before", [1, 5])
def test_a_generation_that_went_back_is_not_taken_for_done(
    generation_before: int,
) -> None:
    before = status_of(
        planned(
            [image_set("s", "a", generation=generation_before)],
            observed("a", pins=pinned("a", by="s")),
        )
    )
    seen = observed("a", known=["b"], pins=pinned("a", by="s"), last_status=before)
    (entry,) = status_of(planned([image_set("s", "b", generation=1)], seen)).pinned_image_sets
    assert (entry.current_generation, entry.desired_generation) == (0, 1)


def test_a_set_that_lost_an_image_is_not_done_until_it_is_back() -> None:
    sets = [image_set("s", "a")]
    before = status_of(planned(sets, observed("a", pins=pinned("a", by="s"))))
    lost = status_of(planned(sets, observed(known=["a"], last_status=before)))
    assert lost.pinned_image_sets[0].current_generation == 0
    back = planned(sets, observed("a", pins=pinned("a", by="s"), last_status=lost))
    assert status_of(back).pinned_image_sets[0].current_generation == 1
    assert events_of(back) == [("s", "Pinned")]


def test_no_space_is_reported_first_although_another_set_failed_before_it() -> None:
    pulls = {
        key("a"): failed(PullErrorKind.NOT_FOUND, message="no such image"),
        key("b"): failed(PullErrorKind.NO_SPACE, message="no space left on device"),
    }
    seen = observed(known=["a", "b"], pulls=pulls)
    status = status_of(planned([image_set("first", "a"), image_set("second", "b")], seen))
    degraded = conditions.find(status.conditions, ConditionType.SETS_DEGRADED)
    assert degraded is not None
    assert degraded.reason == Reason.NO_SPACE
    assert degraded.message.startswith(f"set second: failed to pull {key('b')}: no space left")


def test_an_error_that_differs_in_its_numbers_only_is_progress_and_no_new_event() -> None:
    """Free bytes change all the time; a status must not follow each of them."""
    sets = [image_set("s", "a")]
    first = written(planned(sets, observed(known=["a"], budget=budget(free_mib=19))))
    other: dict[str, Any] = {"known": ["a"], "budget": budget(free_mib=18)}
    seen = observed(**other, **first, status_at=NOW)
    assert planned(sets, seen, now=NOW + timedelta(seconds=29)).actions == ()
    late = planned(sets, seen, now=NOW + timedelta(seconds=30))
    assert "18 MiB is free" in status_of(late).pinned_image_sets[0].last_failed_generation_errors[0]
    assert events_of(late) == []


def test_a_clock_that_is_set_back_keeps_no_progress_from_being_reported() -> None:
    sets = [image_set("s", "a", "b")]
    first = status_of(planned(sets, observed(known=["a", "b"])))
    seen = observed("a", known=["b"], last_status=first, status_at=NOW)
    plan = planned(sets, seen, now=NOW - timedelta(hours=1))
    assert "1 of 2 images" in status_of(plan).conditions[1].message


def test_a_claim_is_withdrawn_at_once_and_made_again_after_a_moment() -> None:
    """Two agents that run for one node by mistake would contradict each other for ever."""
    sets, soon = [image_set("s", "a")], NOW + timedelta(milliseconds=500)
    made = status_of(planned(sets, observed("a", pins=pinned("a", by="s"))))
    lost = planned(sets, observed(known=["a"], last_status=made, status_at=NOW))
    assert status_of(lost).pinned_image_sets[0].current_generation == 0
    here: dict[str, Any] = {
        "pins": pinned("a", by="s"),
        "last_status": status_of(lost),
        "status_at": NOW,
    }
    early = planned(sets, observed("a", **here))
    assert (actions_of(early, WriteStatus), early.recheck_at) == ([], soon)
    again = status_of(planned(sets, observed("a", **here), now=soon))
    assert again.pinned_image_sets[0].current_generation == 1


def test_an_error_withdraws_the_claim_that_there_is_none() -> None:
    sets = [image_set("s", "a"), image_set("t", "b")]
    first = status_of(planned(sets, observed(known=["a", "b"])))
    pulls = {key("b"): failed(PullErrorKind.UNAUTHORIZED)}
    seen = observed(known=["a", "b"], pulls=pulls, last_status=first, status_at=NOW)
    degraded = truth(status_of(planned(sets, seen)), ConditionType.SETS_DEGRADED)
    assert degraded == ("True", "PrefetchFailed")


def test_every_set_that_is_done_is_reported_and_of_the_others_as_many_as_there_is_room_for() -> (
    None
):
    """A node may be in several full pools; a status that is too long would be refused whole."""
    done = [image_set(f"done-{number:03}", "a") for number in range(120)]
    others = [image_set(f"other-{number:03}", "b") for number in range(120)]
    owners = "+".join(one.name for one in done)
    seen = observed("a", known=["b"], pins=pinned("a", by=owners))
    entries = status_of(planned([*done, *others], seen)).pinned_image_sets
    assert sum(entry.name.startswith("done") for entry in entries) == 120
    assert sum(entry.name.startswith("other") for entry in entries) == 100


def test_a_set_made_again_in_the_same_generation_starts_anew() -> None:
    pins = pinned("a", by="s")
    before = status_of(planned([image_set("s", "a", uid="first")], observed("a", pins=pins)))
    assert [(one.uid, one.current_generation) for one in before.pinned_image_sets] == [("first", 1)]
    seen = observed("a", known=["b"], pins=pins, last_status=before)
    again = status_of(planned([image_set("s", "b", uid="second")], seen))
    assert [(one.uid, one.current_generation) for one in again.pinned_image_sets] == [("second", 0)]


def test_each_set_reports_its_own_counts() -> None:
    sets = [image_set("s", "a", "b"), image_set("t", "a"), image_set("u", "c")]
    entries = status_of(planned(sets, observed("a", known=["b"]))).pinned_image_sets
    counts = [(one.present_image_count, one.image_count, one.missing_bytes) for one in entries]
    assert counts == [(1, 2, 10 * MIB), (1, 1, 0), (0, 1, 0)]


def test_counts_that_another_definition_drops_cause_no_write() -> None:
    """The definition of MachineConfigNode may be another owner's, without our fields."""
    sets = [image_set("s", "a", "b")]
    first = status_of(planned(sets, observed("a", known=["b"])))
    entries = (
        replace(one, image_count=0, present_image_count=0, missing_bytes=0)
        for one in first.pinned_image_sets
    )
    stored = replace(first, pinned_image_sets=tuple(entries))
    plan = planned(sets, observed("a", known=["b"], last_status=stored))
    assert actions_of(plan, WriteStatus) == []


def test_a_runtime_that_does_not_answer_is_the_cause_of_late_pins() -> None:
    for seconds, errors in ((59, 0), (60, 1)):
        since = {"s": NOW - timedelta(seconds=seconds)}
        late = observed("a", pins_delay="the runtime is away", unpinned_since=since)
        (entry,) = status_of(planned([image_set("s", "a")], late)).pinned_image_sets
        assert len(entry.last_failed_generation_errors) == errors
    assert entry.last_failed_generation_errors[0].endswith("1m: the runtime is away")


def test_a_retry_that_runs_is_reported_beside_the_last_error() -> None:
    again = replace(failed(PullErrorKind.NOT_FOUND, attempts=4), running=True)
    status = status_of(
        planned([image_set("s", "a")], observed(known=["a"], pulls={key("a"): again}))
    )
    (entry,) = status.pinned_image_sets
    assert (entry.pulling_image_count, entry.pull_attempt, entry.next_pull_time) == (1, 4, "")
    assert "it broke" in entry.last_failed_generation_errors[0]
    progressing = conditions.find(status.conditions, ConditionType.SETS_PROGRESSING)
    assert progressing is not None
    assert progressing.message.endswith("1 being pulled, attempt 4")


def test_the_next_try_is_reported_while_nothing_is_pulled() -> None:
    pulls = {
        key("a"): failed(PullErrorKind.NOT_FOUND, attempts=1),
        key("b"): failed(PullErrorKind.NOT_FOUND, attempts=6),
    }
    plan = planned([image_set("s", "a", "b")], observed(known=["a", "b"], pulls=pulls))
    (entry,) = status_of(plan).pinned_image_sets
    assert (entry.pulling_image_count, entry.pull_attempt) == (0, 2)
    at = conditions.instant(entry.next_pull_time)
    assert at is not None
    assert NOW < at < NOW + timedelta(seconds=10), "that of the image with the shorter back-off"
    assert plan.recheck_at is not None
    assert conditions.timestamp(plan.recheck_at) == entry.next_pull_time


@pytest.mark.parametrize("kind", [PullErrorKind.NO_SPACE, PullErrorKind.NOT_FOUND])
def test_errors_are_still_known_after_a_restart(kind: PullErrorKind) -> None:
    sets = [image_set("s", "a", "b")]
    pulls = {key("a"): failed(kind, message="as it was")}
    before = status_of(planned(sets, observed(known=["a", "b"], pulls=pulls)))
    seen = observed(known=["a", "b"], last_status=before)
    for pulls in ({}, {key("a"): RUNNING}, {key("a"): failed(PullErrorKind.UNAVAILABLE)}):
        plan = planned(sets, replace(seen, pulls=pulls), now=NOW + timedelta(hours=1))
        status = status_of(plan) if actions_of(plan, WriteStatus) else before
        assert truth(status, ConditionType.SETS_DEGRADED) == truth(
            before, ConditionType.SETS_DEGRADED
        )
        assert status.pinned_image_sets[0].last_failed_generation_errors == (
            f"failed to pull {key('a')}: as it was",
        )
    after = status_of(planned(sets, observed("a", known=["b"], last_status=before)))
    assert truth(after, ConditionType.SETS_DEGRADED)[0] == "False", "the image is on the node"


def test_an_earlier_error_does_not_take_the_reason_of_another() -> None:
    sets = [image_set("s", "a", "b")]
    pulls = {
        key("a"): failed(PullErrorKind.NO_SPACE, message="the disk is full"),
        key("b"): failed(PullErrorKind.NOT_FOUND, message="it is gone"),
    }
    before = status_of(planned(sets, observed(known=["a", "b"], pulls=pulls)))
    assert truth(before, ConditionType.SETS_DEGRADED) == ("True", "NoSpace")
    after = status_of(planned(sets, observed("a", known=["b"], last_status=before)))
    assert truth(after, ConditionType.SETS_DEGRADED) == ("True", "PrefetchFailed")


def test_an_earlier_error_is_about_its_own_image_set_and_generation() -> None:
    pulls = {key("a"): failed(PullErrorKind.NOT_FOUND)}
    before = status_of(planned([image_set("s", "a")], observed(known=["a"], pulls=pulls)))
    for other in (
        image_set("s", "b"),
        image_set("s", "a", generation=2),
        image_set("s", "a", uid="another"),
        image_set("t", "a"),
    ):
        status = status_of(planned([other], observed(known=["a", "b"], last_status=before)))
        assert truth(status, ConditionType.SETS_DEGRADED)[0] == "False", other


def test_an_image_that_was_pulled_and_removed_has_no_earlier_error() -> None:
    sets, pulls = [image_set("s", "a")], {key("a"): failed(PullErrorKind.NOT_FOUND)}
    before = status_of(planned(sets, observed(known=["a"], pulls=pulls)))
    past = {key("a"): PastPulls(count=1, last_at=NOW)}
    status = status_of(planned(sets, observed(known=["a"], past_pulls=past, last_status=before)))
    assert truth(status, ConditionType.SETS_DEGRADED)[0] == "False"


def test_another_image_that_fails_is_another_event() -> None:
    sets, known = [image_set("s", "a1", "a2")], ["a1", "a2"]
    not_found = failed(PullErrorKind.NOT_FOUND)
    first = written(planned(sets, observed(known=known, pulls={key("a1"): not_found})))
    seen = observed(known=known, pulls={key("a2"): not_found}, **first)
    assert events_of(planned(sets, seen)) == [("s", "PrefetchFailed")]


def test_a_failure_that_comes_back_is_another_event() -> None:
    sets, broken = [image_set("s", "a")], {key("a"): failed(PullErrorKind.NOT_FOUND)}
    first = written(planned(sets, observed(known=["a"], pulls=broken)))
    retried = planned(sets, observed("a", **first))
    again = planned(sets, observed(known=["a"], pulls=broken, **written(retried)))
    assert events_of(again) == [("s", "PrefetchFailed")]


def test_a_failure_that_the_process_before_reported_is_no_new_event() -> None:
    """Otherwise a restart of all agents would repeat the failures of the whole fleet."""
    sets, broken = [image_set("s", "a")], {key("a"): failed(PullErrorKind.NOT_FOUND)}
    last_status = status_of(planned(sets, observed(known=["a"], pulls=broken)))
    broken = {key("a"): failed(PullErrorKind.NOT_FOUND, message="in other words")}
    plan = planned(sets, observed(known=["a"], pulls=broken, last_status=last_status))
    assert status_of(plan) != last_status
    assert events_of(plan) == []


def test_an_event_is_recorded_only_when_its_status_could_be_written() -> None:
    """The API server may be away for minutes, and a node reconciles many times meanwhile."""
    plan = planned([image_set("s", "a")], observed("a", pins=pinned("a", by="s")))
    (lane,) = (lane for lane in plan.lanes().values() if isinstance(lane[0], WriteStatus))
    assert tuple(map(type, lane)) == (WriteStatus, RecordEvent)
