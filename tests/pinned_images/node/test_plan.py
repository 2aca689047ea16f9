"""What a node resolves and pins, and when it is reconciled again."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel.images import Resolution
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.pinned_images.node.types import (
    CancelPull,
    DesiredSet,
    ForgetImages,
    ObservedNodeImages,
    PastPulls,
    PullErrorKind,
    ResolveImages,
    StartPull,
    WritePins,
)
from lading.ports.cri import RecordedPin
from tests.pinned_images.node.builders import (
    NOW,
    UNRESOLVED,
    actions_of,
    failed,
    image_id,
    image_set,
    key,
    observed,
    pinned,
    planned,
    present,
    status_of,
    truth,
    unresolved,
)

GUEST = key("a", "kata")


GUEST_MANIFEST = Resolution(manifest="registry.example/a@sha256:guest", layers=())


def test_an_image_is_resolved_before_it_is_pulled() -> None:
    plan = planned([image_set("s", "a", "b")], observed(known=["b"]))
    assert [action.keys for action in actions_of(plan, ResolveImages)] == [(key("a"),)]
    assert [action.key for action in actions_of(plan, StartPull)] == [key("b")]


def test_a_size_that_could_not_be_had_is_asked_for_again_only_while_it_matters() -> None:
    later = NOW + timedelta(minutes=2)
    missing = observed(unresolved={key("a"): UNRESOLVED})
    assert actions_of(planned([image_set("s", "a")], missing), ResolveImages) == []
    again = planned([image_set("s", "a")], missing, now=later)
    assert [action.keys for action in actions_of(again, ResolveImages)] == [(key("a"),)]
    here = observed(images=present("a"), unresolved={key("a"): UNRESOLVED}, resolutions={})
    assert actions_of(planned([image_set("s", "a")], here, now=later), ResolveImages) == []


def test_a_node_is_reconciled_after_the_resync_period_at_the_latest() -> None:
    pins = pinned("a", by="s")
    assert planned([image_set("s", "a")], observed("a", pins=pins)).recheck_at == (
        NOW + timedelta(minutes=2)
    )


def for_guests(kind: PullErrorKind, *, attempts: int = 1, **more: Any) -> Plan:
    """A set with an image for guests that could not be resolved."""
    seen = observed(unresolved={GUEST: unresolved(kind, attempts=attempts)}, **more)
    return planned([replace(image_set("s"), images=(GUEST,))], seen)


def test_an_image_that_guests_cannot_run_fails_its_set_and_is_not_pulled() -> None:
    plan = for_guests(PullErrorKind.NO_MATCHING_PLATFORM, handlers_honoured=False)
    assert actions_of(plan, StartPull) == []
    (entry,) = status_of(plan).pinned_image_sets
    assert entry.last_failed_generation_errors == (f"failed to resolve {GUEST}: it broke",)


def test_a_registry_that_is_away_fails_a_guests_image_only_after_some_attempts() -> None:
    for attempts, failed_generation in ((2, 0), (3, 1)):
        plan = for_guests(PullErrorKind.UNAVAILABLE, attempts=attempts, handlers_honoured=False)
        assert actions_of(plan, StartPull) == []
        assert status_of(plan).pinned_image_sets[0].last_failed_generation == failed_generation
        assert plan.recheck_at is not None
        assert plan.recheck_at < NOW + timedelta(minutes=1)


def test_a_runtime_that_knows_handlers_chooses_the_manifest_itself() -> None:
    plan = for_guests(PullErrorKind.NO_MATCHING_PLATFORM, handlers_honoured=True)
    assert [start.key for start in actions_of(plan, StartPull)] == [GUEST]
    assert status_of(plan).pinned_image_sets[0].last_failed_generation == 0


def pins_written(plan: Plan) -> dict[str, tuple[str, ...]] | None:
    writes = actions_of(plan, WritePins)
    if not writes:
        return None
    return {pin.image_id: pin.owners for pin in writes[0].pins}


def test_a_complete_set_is_pinned() -> None:
    plan = planned([image_set("s", "a", "b")], observed("a", "b"))
    assert pins_written(plan) == {image_id("a"): ("s",), image_id("b"): ("s",)}


def test_an_incomplete_set_pins_nothing_new() -> None:
    assert pins_written(planned([image_set("s", "a", "b")], observed("a", known=["b"]))) is None


def test_what_is_pinned_already_is_not_written_again() -> None:
    plan = planned([image_set("s", "a")], observed("a", pins=pinned("a", by="s")))
    assert pins_written(plan) is None


def test_a_pin_that_the_runtime_has_lost_is_written_again() -> None:
    seen = observed("a", pins=pinned("a", by="s", effective=False))
    assert pins_written(planned([image_set("s", "a")], seen)) == {image_id("a"): ("s",)}


def test_while_a_new_generation_is_incomplete_the_old_pins_stay() -> None:
    seen = observed("a", "b", known=["c"], pins=pinned("a", "b", by="s"))
    plan = planned([image_set("s", "b", "c", generation=2)], seen)
    assert pins_written(plan) is None


def test_when_the_new_generation_is_complete_what_it_left_out_is_unpinned() -> None:
    seen = observed("a", "b", "c", pins=pinned("a", "b", by="s"))
    plan = planned([image_set("s", "b", "c", generation=2)], seen)
    assert pins_written(plan) == {image_id("b"): ("s",), image_id("c"): ("s",)}


def test_a_removed_set_is_unpinned_although_another_is_failing() -> None:
    """In OpenShift's daemon one failing set blocked pinning and unpinning of all the others."""
    seen = observed("a", "b", known=["c"], pins=(*pinned("a", by="gone"), *pinned("b", by="s")))
    plan = planned([image_set("s", "b", "c")], seen)
    assert pins_written(plan) == {image_id("b"): ("s",)}


def test_an_image_of_two_sets_stays_pinned_when_one_set_goes() -> None:
    seen = observed("a", pins=pinned("a", by="s+t"))
    assert pins_written(planned([image_set("t", "a")], seen)) == {image_id("a"): ("t",)}


def test_an_image_that_has_gone_is_not_pinned() -> None:
    seen = observed(
        known=["a", "b"], pins=pinned("a", by="s", effective=False), image_ids=frozenset()
    )
    assert pins_written(planned([image_set("s", "a", "b")], seen)) == {}


def test_without_sets_every_pin_of_ours_goes() -> None:
    assert pins_written(planned([], observed("a", pins=pinned("a", by="s")))) == {}


def test_a_node_that_is_not_ready_writes_no_new_pins_and_keeps_the_old_ones() -> None:
    seen = observed("a", "b", pins=pinned("a", by="s"), ready=False)
    assert pins_written(planned([image_set("s", "a", "b")], seen)) is None


def test_a_runtime_that_cannot_pin_is_not_asked_to() -> None:
    seen = observed("a", cannot_pin="containerd 1.6.20 ignores pins")
    assert pins_written(planned([image_set("s", "a")], seen)) is None


def test_pins_that_could_not_be_written_are_retried_and_the_cause_is_reported() -> None:
    seen = observed("a", pins_at=NOW, pins_error="no space left on device")
    plan = planned([image_set("s", "a")], seen)
    assert pins_written(plan) == {image_id("a"): ("s",)}
    (entry,) = status_of(plan).pinned_image_sets
    assert entry.last_failed_generation_errors == (
        "all images are on the node, but pinning failed: no space left on device",
    )


def test_pins_are_read_back_soon_and_not_hammered_when_they_are_not_taken() -> None:
    sets = [image_set("s", "a")]
    first = planned(sets, observed("a"))
    assert first.recheck_at == NOW + timedelta(milliseconds=100)
    lost = observed("a", pins=pinned("a", by="s", effective=False), pins_at=NOW)
    again = planned(sets, lost, now=NOW + timedelta(seconds=1))
    assert pins_written(again) == {image_id("a"): ("s",)}
    assert again.recheck_at == NOW + timedelta(seconds=31)


def test_a_clock_that_is_set_back_keeps_no_pin_from_being_read_back() -> None:
    earlier = NOW - timedelta(hours=1)
    plan = planned([image_set("s", "a")], observed("a", pins_at=NOW), now=earlier)
    assert plan.recheck_at == earlier + timedelta(milliseconds=100)


names = st.sampled_from(["a", "b", "c", "d"])


sets = st.lists(
    st.builds(
        lambda name, images: image_set(name, *sorted(images)),
        st.sampled_from(["s", "t", "u"]),
        st.sets(names, min_size=1),
    ),
    unique_by=lambda one: one.name,
    max_size=3,
)


held = st.lists(
    st.builds(
        lambda name, owners, effective: pinned(name, by="+".join(owners), effective=effective)[0],
        names,
        st.sets(st.sampled_from(["s", "t", "u", "gone"]), min_size=1),
        st.booleans(),
    ),
    unique_by=lambda one: one.pin.image_id,
)


@given(sets=sets, here=st.sets(names), pins=held, ready=st.booleans(), pressure=st.booleans())
def test_no_pin_is_ever_planned_for_an_absent_image_or_a_set_that_is_not_there(
    sets: list[DesiredSet], here: set[str], pins: list[RecordedPin], ready: bool, pressure: bool
) -> None:
    seen: ObservedNodeImages = observed(
        *here,
        known=["a", "b", "c", "d"],
        pins=tuple(pins),
        image_ids=frozenset(image_id(name) for name in here),
        ready=ready,
        disk_pressure=pressure,
    )
    written = pins_written(planned(sets, seen))
    if written is None:
        return
    assert set(written) <= seen.image_ids
    allowed = {one.name for one in sets}
    assert all(owners and set(owners) <= allowed for owners in written.values())


def test_an_unpin_that_the_runtime_has_not_taken_is_written_again() -> None:
    left = tuple(replace(one, released=True) for one in pinned("b", by="gone"))
    seen = observed("a", pins=pinned("a", by="s"), released_pins=left)
    (write,) = actions_of(planned([image_set("s", "a")], seen), WritePins)
    assert [pin.image_id for pin in write.pins] == [image_id("a")]
    assert write.because == "0 to pin, 1 to unpin, 1 to keep"


def test_engines_forget_images_that_no_set_wants_and_pulls_that_led_to_a_pin() -> None:
    past = PastPulls(count=1, last_at=NOW)
    seen = observed("a", "b", pins=pinned("a", by="s"), past_pulls={key("a"): past})
    (forget,) = actions_of(planned([image_set("s", "a")], seen), ForgetImages)
    assert (forget.wanted, forget.unpinned) == ({key("a")}, set())
    waiting = observed("a", past_pulls={key("a"): past})
    assert actions_of(planned([image_set("s", "a")], waiting), ForgetImages) == []


def test_pins_that_hide_a_change_of_others_are_written_again() -> None:
    seen = observed("a", pins=pinned("a", by="s"), pins_outdated=True)
    (write,) = actions_of(planned([image_set("s", "a")], seen), WritePins)
    assert [pin.image_id for pin in write.pins] == [image_id("a")]


@pytest.mark.parametrize("generation", [1, 2])
def test_images_of_classes_are_unpinned_when_their_gate_is_off(
    generation: int,
) -> None:
    """First the claim is taken back; what the set has for the host stays pinned."""
    on = image_set("s", "host", "guest")
    pins = pinned("host", "guest", by="s")
    claimed = status_of(planned([on], observed("host", "guest", pins=pins)))
    off = image_set("s", "host", generation=generation, unresolvable=("its gate is off",))
    left = frozenset({image_id("host"), image_id("guest")})  # one manifest may serve both
    seen = observed("host", pins=pins, images_kept_while_gate_is_off=left, last_status=claimed)
    first = planned([off], seen)
    assert actions_of(first, WritePins) == []
    (entry,) = status_of(first).pinned_image_sets
    assert entry.current_generation == 0
    then = planned([off], replace(seen, last_status=status_of(first)))
    (write,) = actions_of(then, WritePins)
    assert [pin.image_id for pin in write.pins] == [image_id("host")]


TAG = "registry.example/a:v1"
TAGGED = image_set("s", "a", tags={TAG: key("a")})


def with_tags(recorded: tuple[RecordedPin, ...], *tags: str) -> tuple[RecordedPin, ...]:
    return tuple(replace(one, pin=replace(one.pin, tags=tags)) for one in recorded)


def test_a_set_is_pinned_when_its_tags_mean_its_images_too() -> None:
    untagged = planned([TAGGED], observed("a", pins=pinned("a", by="s")))
    (write,) = actions_of(untagged, WritePins)
    assert [pin.tags for pin in write.pins] == [(TAG,)]
    assert status_of(untagged).pinned_image_sets[0].current_generation == 0
    ours = with_tags(pinned("a", by="s"), TAG)
    tagged = planned([TAGGED], observed("a", pins=ours, tags={TAG: image_id("a")}))
    assert actions_of(tagged, WritePins) == []
    assert status_of(tagged).pinned_image_sets[0].current_generation == 1


def test_a_tag_that_means_another_image_is_moved_and_an_event_says_so() -> None:
    ours = with_tags(pinned("a", by="s"), TAG)
    moved = planned([TAGGED], observed("a", pins=pinned("a", by="s"), tags={TAG: "sha256:other"}))
    (write,) = actions_of(moved, WritePins)
    assert [pin.tags for pin in write.pins] == [(TAG,)]
    assert [one.because for one in actions_of(moved, RecordEvent) if one.reason == "TagMoved"] == [
        f"{TAG} meant another image on this node. Now it means {key('a').image}"
    ]
    new = planned([TAGGED], observed("a", pins=(), tags={}))
    assert [one for one in actions_of(new, RecordEvent) if one.reason == "TagMoved"] == []
    steady = planned([TAGGED], observed("a", pins=ours, tags={TAG: image_id("a")}))
    assert [one for one in actions_of(steady, RecordEvent) if one.reason == "TagMoved"] == []


def test_a_tag_that_no_set_wants_any_more_is_taken_back() -> None:
    ours = with_tags(pinned("a", by="s"), TAG)
    seen = observed("a", pins=ours, tags={TAG: image_id("a")})
    (write,) = actions_of(planned([image_set("s", "a")], seen), WritePins)
    assert [pin.tags for pin in write.pins] == [()]


def test_a_tag_stays_while_the_next_generation_of_its_set_is_incomplete() -> None:
    edited = image_set("s", "b", generation=2, tags={TAG: key("b")})
    ours = with_tags(pinned("a", by="s"), TAG)
    seen = observed("a", known=["b"], pins=ours, tags={TAG: image_id("a")})
    assert actions_of(planned([edited], seen), WritePins) == []


def test_a_runtime_that_cannot_make_a_tag_pulls_it() -> None:
    seen = observed("a", pins=pinned("a", by="s"), makes_tags=False)
    pulling = planned([TAGGED], seen)
    (start,) = actions_of(pulling, StartPull)
    assert (start.key, start.spec.image, start.new_bytes) == (key("a"), TAG, 0)
    assert actions_of(pulling, WritePins) == []
    assert status_of(pulling).pinned_image_sets[0].current_generation == 0
    refused = {key("a"): failed(PullErrorKind.TAG_MOVED, message="it moved")}
    after = planned([TAGGED], replace(seen, pulls=refused))
    assert actions_of(after, CancelPull) == [], "the error stays, and the pull waits for its retry"
    assert actions_of(after, StartPull) == []
    (entry,) = status_of(after).pinned_image_sets
    assert entry.last_failed_generation_errors == (f"failed to pull {key('a')}: it moved",)
    tagged = planned([TAGGED], replace(seen, tags={TAG: image_id("a")}))
    assert status_of(tagged).pinned_image_sets[0].current_generation == 1


def test_an_image_for_a_handler_that_the_runtime_does_not_have_is_refused() -> None:
    sets = [DesiredSet(name="s", generation=1, images=(GUEST,))]
    seen = observed(
        runtime_handlers=frozenset({"", "runc"}),
        handlers_honoured=False,
        resolutions={GUEST: GUEST_MANIFEST},
    )
    plan = planned(sets, seen)
    assert actions_of(plan, StartPull) == []
    assert truth(status_of(plan), "PinnedImageSetsDegraded") == ("True", "UnknownRuntimeHandler")
    assert "it has: runc" in status_of(plan).pinned_image_sets[0].last_failed_generation_errors[0]
    known = planned(sets, replace(seen, runtime_handlers=frozenset({"", "kata"})))
    assert len(actions_of(known, StartPull)) == 1
