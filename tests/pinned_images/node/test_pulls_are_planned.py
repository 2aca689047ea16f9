"""Which pulls a node starts and cancels, and what it refuses for want of space."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lading.kernel.images import ImageKey, Resolution
from lading.kernel.planning import Plan
from lading.pinned_images.node import rules
from lading.pinned_images.node.types import (
    CancelPull,
    Desired,
    DesiredSet,
    Observed,
    PinSettings,
    PullErrorKind,
    Reason,
    ResolveImages,
    StartPull,
)
from lading.ports.cri import ImageSpec
from tests.pinned_images.node.builders import (
    NOW,
    RUNNING,
    UNRESOLVED,
    actions_of,
    budget,
    failed,
    image_set,
    key,
    layer,
    observed,
    pinned,
    planned,
    present,
    status_of,
    unresolved,
)


def started(sets: list[DesiredSet], seen: Observed, **settings: Any) -> list[str]:
    plan = planned(sets, seen, **settings)
    return [action.key.image.split("/")[1].split("@")[0] for action in actions_of(plan, StartPull)]


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


def test_an_image_is_resolved_before_it_is_pulled() -> None:
    plan = planned([image_set("s", "a", "b")], observed(known=["b"]))
    assert [action.keys for action in actions_of(plan, ResolveImages)] == [(key("a"),)]
    assert [action.key for action in actions_of(plan, StartPull)] == [key("b")]


def test_an_image_whose_size_cannot_be_had_is_pulled_last() -> None:
    seen = observed(known=["b"], unresolved={key("a"): UNRESOLVED})
    assert started([image_set("s", "a", "b")], seen) == ["b", "a"]


def test_a_size_that_could_not_be_had_is_asked_for_again_only_while_it_matters() -> None:
    later = NOW + timedelta(minutes=2)
    missing = observed(unresolved={key("a"): UNRESOLVED})
    assert actions_of(planned([image_set("s", "a")], missing), ResolveImages) == []
    again = planned([image_set("s", "a")], missing, now=later)
    assert [action.keys for action in actions_of(again, ResolveImages)] == [(key("a"),)]
    here = observed(images=present("a"), unresolved={key("a"): UNRESOLVED}, resolutions={})
    assert actions_of(planned([image_set("s", "a")], here, now=later), ResolveImages) == []


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


def test_one_failed_image_does_not_hold_up_the_others() -> None:
    seen = observed(known=["a", "b"], pulls={key("a"): failed(PullErrorKind.UNAUTHORIZED)})
    assert started([image_set("s", "a", "b")], seen) == ["b"]


def test_no_space_stops_every_new_pull_and_goes_on_after_the_back_off() -> None:
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
def test_a_node_in_trouble_starts_nothing_and_says_why(
    problem: dict[str, bool], reason: Reason
) -> None:
    plan = planned([image_set("s", "a")], observed(known=["a"], **problem))
    assert actions_of(plan, StartPull) == []
    assert status_of(plan).conditions[0].reason == reason


def test_disk_pressure_cancels_what_is_being_pulled() -> None:
    seen = observed(known=["a"], pulls={key("a"): RUNNING}, disk_pressure=True)
    plan = planned([image_set("s", "a")], seen)
    assert [action.key for action in actions_of(plan, CancelPull)] == [key("a")]


def test_a_set_that_does_not_fit_is_refused_whole_and_others_go_on() -> None:
    seen = observed(known=["a", "b", "c"], budget=budget(free_mib=50))
    plan = planned([image_set("large", "a", "b", "c"), image_set("small", "c")], seen)
    assert [action.key for action in actions_of(plan, StartPull)] == [key("c")]
    (large, small) = status_of(plan).pinned_image_sets
    assert "needs 60 MiB of disk" in large.last_failed_generation_errors[0]
    assert small.last_failed_generation_errors == ()


def test_layers_are_counted_once_over_all_sets() -> None:
    """OpenShift's daemon checked each set alone, against the size of the disk, not its rest."""
    shared = layer("shared", 10)
    resolutions = {
        key(name): Resolution(manifest=key(name).image, layers=(shared, layer(name, 1)))
        for name in ("a", "b")
    }
    seen = observed(resolutions=resolutions, budget=budget(free_mib=24))
    assert started([image_set("s", "a"), image_set("t", "b")], seen) == ["a", "b"]
    tight = observed(resolutions=resolutions, budget=budget(free_mib=23))
    assert started([image_set("s", "a"), image_set("t", "b")], tight) == ["a"]


def test_layers_that_are_already_here_cost_nothing() -> None:
    shared = layer("shared", 100)
    resolutions = {
        key(name): Resolution(manifest=key(name).image, layers=(shared, layer(name, 1)))
        for name in ("a", "b")
    }
    seen = observed(images=present("a"), resolutions=resolutions, budget=budget(free_mib=2))
    assert started([image_set("s", "a", "b")], seen) == ["b"]


def test_what_the_kubelet_needs_free_is_not_ours() -> None:
    seen = observed(known=["a"], budget=budget(free_mib=100, reserve_mib=90))
    plan = planned([image_set("s", "a")], seen)
    assert actions_of(plan, StartPull) == []
    assert "90 MiB must stay free" in status_of(plan).conditions[0].message


def test_a_pull_under_way_keeps_its_room_and_refuses_nobody_for_it() -> None:
    """How much of its 20 MiB it has taken nobody knows, so a second one may have to wait."""
    sets = [image_set("s", "a"), image_set("t", "b")]
    known: dict[str, Any] = {"known": ["a", "b"], "pulls": {key("a"): RUNNING}}
    assert started(sets, observed(**known, budget=budget(free_mib=40))) == ["b"]
    waiting = planned(sets, observed(**known, budget=budget(free_mib=39)))
    assert actions_of(waiting, StartPull) == []
    assert [one.last_failed_generation for one in status_of(waiting).pinned_image_sets] == [0, 0]
    refused = planned(sets, observed(**known, budget=budget(free_mib=19)))
    assert [one.last_failed_generation for one in status_of(refused).pinned_image_sets] == [0, 1]


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


def test_a_registry_whose_pulls_fill_the_cap_holds_up_no_other_registry() -> None:
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


def test_a_large_set_that_cannot_fit_takes_nothing_from_a_small_one() -> None:
    seen = observed(known=["a", "b", "c"], budget=budget(free_mib=50))
    assert started([image_set("large", "a", "b"), image_set("small", "c")], seen) == ["c"]


def retried_after(node: str, attempts: int) -> float:
    pull = failed(PullErrorKind.UNAVAILABLE, attempts=attempts)
    at = rules.retry_at(key("a"), pull, node, NOW)
    assert at is not None
    return (at - NOW).total_seconds()


def test_retries_double_up_to_some_five_minutes() -> None:
    first, second, late = (retried_after("n", attempts) for attempts in (1, 2, 50))
    assert 5 <= first < 6.25
    assert second == pytest.approx(2 * first)
    assert late == pytest.approx(64 * first)


def test_no_two_nodes_come_back_or_begin_at_the_same_moment() -> None:
    nodes = [f"node-{number}" for number in range(100)]
    assert len({retried_after(node, 1) for node in nodes}) == len(nodes)
    settings = PinSettings(start_spread=timedelta(minutes=1))
    starts = {
        rules.starts_at(
            image_set("s", "a"), Desired(node_name=node, sets=(), settings=settings), NOW
        )
        for node in nodes
    }
    assert len(starts) == len(nodes)
    assert max(starts) < NOW + timedelta(minutes=1)


def test_a_node_looks_again_at_the_end_of_the_round_at_the_latest() -> None:
    pins = pinned("a", by="s")
    assert planned([image_set("s", "a")], observed("a", pins=pins)).recheck_at == (
        NOW + timedelta(minutes=2)
    )


GUEST = key("a", "kata")
GUEST_MANIFEST = Resolution(manifest="registry.example/a@sha256:guest", layers=())


@pytest.mark.parametrize(
    ("handlers_honoured", "spec"),
    [
        (True, ImageSpec(image=GUEST.image, runtime_handler="kata")),
        (False, ImageSpec(image=GUEST_MANIFEST.manifest)),
    ],
    ids=["which knows handlers", "which does not"],
)
def test_an_image_for_a_handler_is_asked_for_in_the_way_of_its_runtime(
    handlers_honoured: bool, spec: ImageSpec
) -> None:
    seen = observed(resolutions={GUEST: GUEST_MANIFEST}, handlers_honoured=handlers_honoured)
    wanted = replace(image_set("s"), images=(GUEST,))
    assert [start.spec for start in actions_of(planned([wanted], seen), StartPull)] == [spec]


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
