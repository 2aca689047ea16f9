"""Which events follow a status."""

from lading.pinned_images.node.types import (
    PullErrorKind,
    RecordNodeEvent,
    WriteStatus,
)
from tests.pinned_images.node.builders import (
    events_of,
    failed,
    image_set,
    key,
    observed,
    pinned,
    planned,
    status_of,
    written,
)


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
    assert tuple(map(type, lane)) == (WriteStatus, RecordNodeEvent)
