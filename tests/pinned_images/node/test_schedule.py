"""Which pulls a node starts and cancels, and in which order."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lading.kernel.images import ImageKey, Resolution
from lading.pinned_images.node.types import (
    CancelPull,
    PastPulls,
    PullErrorKind,
    ResolveImages,
    StartPull,
)
from lading.pinned_images.reasons import Reason
from lading.ports.cri import ImageSpec
from tests.pinned_images.node.builders import (
    NOW,
    RUNNING,
    UNRESOLVED,
    actions_of,
    failed,
    image_set,
    key,
    layer,
    observed,
    planned,
    present,
    started,
    status_of,
)


def test_only_what_the_runtime_does_not_list_is_pulled() -> None:
    assert started([image_set("s", "a", "b")], observed("a", known=["b"])) == ["b"]


def test_small_images_come_first_then_the_largest_and_the_cap_holds() -> None:
    sizes = {"a": 30, "b": 10, "c": 40, "d": 5}
    resolutions = {
        key(name): Resolution(manifest=key(name).image, layers=(layer(name, size),))
        for name, size in sizes.items()
    }
    seen = observed(resolutions=resolutions)
    assert started([image_set("s", *"abcd")], seen, parallel_pulls_max=3) == ["d", "b", "c"]


def test_what_is_small_does_not_depend_on_what_is_left_to_pull() -> None:
    """Otherwise the largest images would be left for the end after all."""
    sizes = {"a": 1, "b": 30, "c": 40, "d": 50}
    resolutions = {
        key(name): Resolution(manifest=key(name).image, layers=(layer(name, size),))
        for name, size in sizes.items()
    }
    seen = observed(images=present("a"), resolutions=resolutions)
    assert started([image_set("s", *"abcd")], seen) == ["b", "d", "c"]


def test_running_pulls_fill_the_cap() -> None:
    seen = observed(known=["a", "b"], pulls={key("a"): RUNNING})
    assert started([image_set("s", "a", "b")], seen, parallel_pulls_max=1) == []


def test_an_image_of_unknown_size_is_pulled_last() -> None:
    seen = observed(known=["b"], unresolved={key("a"): UNRESOLVED})
    assert started([image_set("s", "a", "b")], seen) == ["b", "a"]


def test_a_pull_that_no_set_wants_any_more_is_cancelled_at_once() -> None:
    plan = planned([image_set("s", "b")], observed(known=["b"], pulls={key("a"): RUNNING}))
    assert [action.key for action in actions_of(plan, CancelPull)] == [key("a")]
    assert [action.key for action in actions_of(plan, StartPull)] == [key("b")]


def test_a_pull_is_left_to_end_when_the_runtime_lists_its_image_a_moment_before() -> None:
    seen = observed("a", pulls={key("a"): RUNNING})
    plan = planned([image_set("s", "a")], seen)
    assert actions_of(plan, CancelPull) == []
    assert actions_of(plan, StartPull) == []


def test_a_pull_brings_the_layers_that_are_not_here_yet() -> None:
    resolutions = {
        key(name): Resolution(manifest=key(name).image, layers=layers)
        for name, layers in {
            "a": (layer("shared", 100),),
            "b": (layer("shared", 100), layer("own", 1)),
        }.items()
    }
    seen = observed(images=present("a"), resolutions=resolutions)
    (start,) = actions_of(planned([image_set("s", "a", "b")], seen), StartPull)
    assert start.new_bytes == 1024 * 1024


def test_a_failed_pull_is_tried_again_after_its_back_off_and_not_before() -> None:
    seen = observed(known=["a"], pulls={key("a"): failed(PullErrorKind.UNAVAILABLE)})
    sets = [image_set("s", "a")]
    assert actions_of(planned(sets, seen), StartPull) == []
    later = planned(sets, seen, now=NOW + timedelta(seconds=10))
    assert [action.key for action in actions_of(later, StartPull)] == [key("a")]
    waiting = planned(sets, seen)
    assert waiting.recheck_at is not None
    assert NOW < waiting.recheck_at < NOW + timedelta(seconds=10)


def test_a_failed_pull_is_not_taken_for_pulled() -> None:
    """OpenShift's daemon cached a failed pull as pulled, then claimed it had been removed."""
    seen = observed(
        known=["a"], pulls={key("a"): failed(PullErrorKind.NOT_FOUND, message="no such")}
    )
    plan = planned([image_set("s", "a")], seen, now=NOW + timedelta(minutes=10))
    assert [action.key for action in actions_of(plan, StartPull)] == [key("a")]
    errors = status_of(plan).pinned_image_sets[0].last_failed_generation_errors
    assert errors == (f"failed to pull {key('a')}: no such",)


def test_one_failed_image_does_not_block_the_others() -> None:
    seen = observed(known=["a", "b"], pulls={key("a"): failed(PullErrorKind.UNAUTHORIZED)})
    assert started([image_set("s", "a", "b")], seen) == ["b"]


def test_no_space_stops_every_new_pull_until_the_back_off_is_over() -> None:
    pulls = {key("a"): failed(PullErrorKind.NO_SPACE, message="no space left on device")}
    seen = observed(known=["a", "b"], pulls=pulls)
    plan = planned([image_set("s", "a"), image_set("t", "b")], seen)
    assert actions_of(plan, StartPull) == []
    degraded = status_of(plan).conditions[0]
    assert degraded.reason == Reason.NO_SPACE
    assert str(key("a")) in degraded.message
    assert started([image_set("s", "a", "b")], seen) == []
    later = planned([image_set("s", "a", "b")], seen, now=NOW + timedelta(seconds=10))
    assert len(actions_of(later, StartPull)) == 2


@pytest.mark.parametrize(
    ("problem", "reason"),
    [({"ready": False}, Reason.NODE_NOT_READY), ({"disk_pressure": True}, Reason.DISK_PRESSURE)],
)
def test_a_node_with_a_problem_starts_nothing_and_reports_why(
    problem: dict[str, bool], reason: Reason
) -> None:
    plan = planned([image_set("s", "a")], observed(known=["a"], **problem))
    assert actions_of(plan, StartPull) == []
    assert status_of(plan).conditions[0].reason == reason


def test_disk_pressure_cancels_what_is_being_pulled() -> None:
    seen = observed(known=["a"], pulls={key("a"): RUNNING}, disk_pressure=True)
    plan = planned([image_set("s", "a")], seen)
    assert [action.key for action in actions_of(plan, CancelPull)] == [key("a")]


def test_the_fleet_starts_a_generation_spread_over_time() -> None:
    spread = timedelta(minutes=1)
    plan = planned([image_set("s", "a")], observed(known=["a"]), start_spread=spread)
    assert actions_of(plan, StartPull) == []
    assert plan.recheck_at is not None
    assert NOW < plan.recheck_at < NOW + spread
    due = planned(
        [image_set("s", "a")], observed(known=["a"]), start_spread=spread, now=plan.recheck_at
    )
    assert len(actions_of(due, StartPull)) == 1


def image_at(registry: str, name: str) -> ImageKey:
    return ImageKey(key(name).image.replace("registry.example", registry))


def on_registries(*keys: ImageKey, pulls: tuple[ImageKey, ...] = ()) -> list[ImageKey]:
    """What is started of these images when those pulls are running and the cap is 2."""
    resolutions = {
        one: Resolution(manifest=one.image, layers=(layer(one.image, 1),)) for one in keys
    }
    wanted = replace(image_set("s"), images=keys)
    seen = observed(resolutions=resolutions, pulls=dict.fromkeys(pulls, RUNNING))
    plan = planned([wanted], seen, parallel_pulls_max=2)
    return [action.key for action in actions_of(plan, StartPull)]


def test_pulls_of_one_registry_that_fill_the_cap_block_no_other_registry() -> None:
    hung = tuple(image_at("hung.example", name) for name in "abc")
    fine = tuple(image_at("fine.example", name) for name in "de")
    assert on_registries(*hung, *fine, pulls=hung[:2]) == [fine[0]]
    assert on_registries(*hung, *fine, pulls=(*hung[:2], fine[0])) == []


def test_each_registry_gets_a_place_before_any_gets_two() -> None:
    first, second = image_at("a.example", "x"), image_at("a.example", "y")
    other = image_at("b.example", "z")
    assert on_registries(first, second, other) == [first, other]
    assert len(on_registries(first, second)) == 2


def test_many_registries_have_no_more_than_twice_the_cap_in_flight() -> None:
    keys = tuple(image_at(f"{name}.example", name) for name in "abcdefgh")
    assert len(on_registries(*keys)) == 4


def test_a_clock_that_is_set_back_keeps_no_pull_waiting() -> None:
    pulls = {key("a"): failed(PullErrorKind.NO_SPACE)}
    seen = observed(known=["a", "b"], pulls=pulls, unresolved={key("c"): UNRESOLVED})
    sets = [image_set("s", "a", "b", "c")]
    an_hour_ago = NOW - timedelta(hours=1)
    plan = planned(sets, seen, now=an_hour_ago, start_spread=timedelta(minutes=1))
    assert {action.key for action in actions_of(plan, StartPull)} == {*map(key, "abc")}
    assert [action.keys for action in actions_of(plan, ResolveImages)] == [(key("c"),)]


GUEST = key("a", "kata")


GUEST_MANIFEST = Resolution(manifest="registry.example/a@sha256:guest", layers=())


@pytest.mark.parametrize(
    ("handlers_honoured", "spec"),
    [
        (True, ImageSpec(image=GUEST.image, runtime_handler="kata")),
        (False, ImageSpec(image=GUEST_MANIFEST.manifest, user_specified_image=GUEST.image)),
    ],
    ids=["which knows handlers", "which does not"],
)
def test_an_image_for_a_handler_is_asked_for_in_the_way_of_its_runtime(
    handlers_honoured: bool, spec: ImageSpec
) -> None:
    seen = observed(resolutions={GUEST: GUEST_MANIFEST}, handlers_honoured=handlers_honoured)
    wanted = replace(image_set("s"), images=(GUEST,))
    assert [start.spec for start in actions_of(planned([wanted], seen), StartPull)] == [spec]


@pytest.mark.parametrize(
    ("pulls_before", "minutes", "is_pulled"), [(1, 0, True), (2, 0, False), (2, 2, True)]
)
def test_issue_17_7_an_image_that_was_removed_twice_waits(
    pulls_before: int, minutes: int, is_pulled: bool
) -> None:
    seen = observed(known=["a"], past_pulls={key("a"): PastPulls(count=pulls_before, last_at=NOW)})
    plan = planned([image_set("s", "a")], seen, now=NOW + timedelta(minutes=minutes))
    assert bool(actions_of(plan, StartPull)) is is_pulled
    assert plan.recheck_at is not None
    assert is_pulled or plan.recheck_at < NOW + timedelta(minutes=2)
