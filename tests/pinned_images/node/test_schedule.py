"""Which pulls a node starts and cancels, and in which order."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel.images import ImageKey, Resolution
from lading.kernel.values import replace
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
    MIB,
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
    seen = observed(known=["a"], first_seen_at={("", 1): NOW})
    plan = planned([image_set("s", "a")], seen, start_spread=spread)
    assert actions_of(plan, StartPull) == []
    assert plan.recheck_at is not None
    assert NOW < plan.recheck_at < NOW + spread
    due = planned([image_set("s", "a")], seen, start_spread=spread, now=plan.recheck_at)
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
    seen = observed(
        known=["a", "b"],
        pulls=pulls,
        unresolved={key("c"): UNRESOLVED},
        first_seen_at={("", 1): NOW},
    )
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
def test_an_image_that_was_removed_twice_waits(
    pulls_before: int, minutes: int, is_pulled: bool
) -> None:
    seen = observed(known=["a"], past_pulls={key("a"): PastPulls(count=pulls_before, last_at=NOW)})
    plan = planned([image_set("s", "a")], seen, now=NOW + timedelta(minutes=minutes))
    assert bool(actions_of(plan, StartPull)) is is_pulled
    assert plan.recheck_at is not None
    assert is_pulled or plan.recheck_at < NOW + timedelta(minutes=2)


def sharing(**layers: str) -> dict[ImageKey, Resolution]:
    """Images by name, each with its layers; `a` is a layer of 1 MiB, `b` one of 2."""
    return {
        key(name): Resolution(
            manifest=key(name).image, layers=tuple(layer(one, ord(one) - 96) for one in names)
        )
        for name, names in layers.items()
    }


APPS = image_set("s", "app-1", "app-2", "app-3")
SHARED = sharing(**{"app-1": "zc", "app-2": "za", "app-3": "zb"})
"""All have the layer z, and app-2 is the smallest."""


def test_behind_a_cache_a_shared_layer_comes_with_the_smallest_image_first() -> None:
    seen = observed(resolutions=SHARED)
    assert started([APPS], seen, behind_cache=True) == ["app-2"]
    assert len(started([APPS], seen)) == 3


def test_behind_a_cache_the_others_follow_when_the_shared_layer_is_here() -> None:
    seen = observed(images=present("app-2"), resolutions=SHARED)
    assert sorted(started([APPS], seen, behind_cache=True)) == ["app-1", "app-3"]


def test_behind_a_cache_a_running_pull_brings_the_shared_layer() -> None:
    seen = observed(resolutions=SHARED, pulls={key("app-1"): RUNNING})
    assert started([APPS], seen, behind_cache=True) == []


def test_behind_a_cache_a_retry_that_runs_brings_the_shared_layer() -> None:
    retry = replace(failed(PullErrorKind.UNAVAILABLE), running=True, attempts=2)
    seen = observed(resolutions=SHARED, pulls={key("app-1"): retry})
    assert started([APPS], seen, behind_cache=True) == []


def test_behind_a_cache_an_image_is_tried_again_when_no_other_brings_its_layers() -> None:
    pulls = {key("app-1"): failed(PullErrorKind.UNAVAILABLE)}
    seen = observed(resolutions=SHARED, pulls=pulls)
    later = NOW + timedelta(hours=1)
    plan = planned([image_set("s", "app-1")], seen, behind_cache=True, now=later)
    assert [one.key for one in actions_of(plan, StartPull)] == [key("app-1")]


def test_behind_a_cache_an_image_that_failed_delays_no_other() -> None:
    pulls = {key("app-2"): failed(PullErrorKind.NOT_FOUND)}
    seen = observed(resolutions=SHARED, pulls=pulls)
    assert started([APPS], seen, behind_cache=True) == ["app-3"]


def test_behind_a_cache_a_retry_waits_for_the_shared_layer() -> None:
    pulls = {key("app-2"): failed(PullErrorKind.UNAVAILABLE)}
    seen = observed(resolutions=SHARED, pulls=pulls)
    plan = planned([APPS], seen, behind_cache=True, now=NOW + timedelta(hours=1))
    assert [one.key for one in actions_of(plan, StartPull)] == [key("app-3")]


def test_behind_a_cache_an_image_that_is_removed_again_and_again_delays_no_other() -> None:
    past = {key("app-2"): PastPulls(count=5, last_at=NOW)}
    seen = observed(resolutions=SHARED, past_pulls=past)
    assert started([APPS], seen, behind_cache=True) == ["app-3"]


def test_behind_a_cache_images_without_a_shared_layer_are_pulled_at_once() -> None:
    seen = observed(resolutions=sharing(x="a", y="b", z="c"))
    assert sorted(started([image_set("s", *"xyz")], seen, behind_cache=True)) == ["x", "y", "z"]


def test_behind_a_cache_images_of_one_repository_do_not_wait_for_each_other() -> None:
    keys = tuple(ImageKey(f"registry.example/app@sha256:{number:064}") for number in range(3))
    layers = (layer("base", 10),)
    resolutions = {one: Resolution(manifest=one.image, layers=layers) for one in keys}
    wanted = replace(image_set("s"), images=keys)
    plan = planned([wanted], observed(resolutions=resolutions), behind_cache=True)
    assert {one.key for one in actions_of(plan, StartPull)} == set(keys)


def test_behind_a_cache_images_of_another_registry_are_not_waited_for() -> None:
    """Each registry has a cache of its own."""
    keys = tuple(ImageKey(f"{host}.example/app@sha256:{1:064}") for host in ("first", "second"))
    layers = (layer("base", 10),)
    resolutions = {one: Resolution(manifest=one.image, layers=layers) for one in keys}
    wanted = replace(image_set("s"), images=keys)
    plan = planned([wanted], observed(resolutions=resolutions), behind_cache=True)
    assert {one.key for one in actions_of(plan, StartPull)} == set(keys)


def test_behind_a_cache_nothing_starts_before_all_images_of_the_registry_are_resolved() -> None:
    other = ImageKey(f"other.example/app@sha256:{1:064}")
    resolutions = {
        key("app-1"): SHARED[key("app-1")],
        other: Resolution(manifest=other.image, layers=(layer("base", 10),)),
    }
    sets = [image_set("s", "app-1", "app-2"), replace(image_set("t"), images=(other,))]
    plan = planned(sets, observed(resolutions=resolutions), behind_cache=True)
    assert [one.key for one in actions_of(plan, StartPull)] == [other]
    seen = observed(resolutions=resolutions, unresolved={key("app-2"): UNRESOLVED})
    plan = planned(sets, seen, behind_cache=True)
    assert {one.key for one in actions_of(plan, StartPull)} == {other, key("app-1"), key("app-2")}


def test_behind_a_cache_a_set_that_starts_later_brings_a_shared_layer_all_the_same() -> None:
    """Each node starts the sets at its own moments, and all pull from the same repository."""
    later = image_set("later", "app-2", uid="later")
    early = image_set("early", "app-1", uid="early")
    an_hour_ago = NOW - timedelta(hours=1)
    first_seen = {("later", 1): NOW, ("early", 1): an_hour_ago}
    seen = observed(resolutions=SHARED, first_seen_at=first_seen)
    assert (
        started([early, later], seen, behind_cache=True, start_spread=timedelta(minutes=10)) == []
    )


def test_behind_a_cache_an_image_that_does_not_fit_brings_nothing() -> None:
    huge = {key("huge"): Resolution(manifest="", layers=(layer("huge", 10_000),))}
    sets = [image_set("fits", "app-1"), image_set("too-large", "app-2", "huge")]
    seen = observed(resolutions=SHARED | huge, budget=budget(free_mib=100))
    assert started(sets, seen, behind_cache=True) == ["app-1"]


@given(data=st.data())
def test_behind_a_cache_every_layer_comes_from_one_repository_and_every_image_comes(
    data: st.DataObject,
) -> None:
    """On two nodes that have different images, and on which pulls end in different orders."""
    names = [f"app-{number}" for number in range(data.draw(st.integers(1, 6)))]
    layers = st.text("uvwxyz", min_size=1, max_size=4)
    resolutions = sharing(**{name: data.draw(layers) for name in names})
    sources: dict[str, set[str]] = {}
    for _node in range(2):
        here, running = set(data.draw(st.lists(st.sampled_from(names)))), set[str]()
        while here != set(names):
            pulls = {key(name): RUNNING for name in running}
            seen = observed(images=present(*here), resolutions=resolutions, pulls=pulls)
            new = started([image_set("s", *names)], seen, behind_cache=True, parallel_pulls_max=3)
            asked = set(_layers_of(new, resolutions)) - set(_layers_of(here | running, resolutions))
            for digest in asked:
                sources.setdefault(digest, set()).update(
                    name for name in new if digest in _layers_of([name], resolutions)
                )
            running |= set(new)
            assert running, "something is always on its way"
            ended = data.draw(st.sampled_from(sorted(running)))
            running.remove(ended)
            here.add(ended)
    assert all(len(names) == 1 for names in sources.values())


def _layers_of(names: Iterable[str], resolutions: dict[ImageKey, Resolution]) -> list[str]:
    return [one.digest for name in names for one in resolutions[key(name)].layers]


@pytest.mark.parametrize(
    ("free_mib", "seconds", "is_started"),
    [(100, 50, False), (109, 50, False), (110, 50, True), (100, 90, True)],
    ids=[
        "a pull that filled the disk does not fill it again",
        "a little more space is not enough",
        "it starts when its size is free beside what was not enough",
        "it is tried after a pause: another process may have filled the disk",
    ],
)
def test_a_pull_after_no_space(free_mib: int, seconds: int, is_started: bool) -> None:
    full = replace(failed(PullErrorKind.NO_SPACE), new_bytes=10 * MIB, free_bytes_before=100 * MIB)
    seen = observed(known=["a"], pulls={key("a"): full}, budget=budget(free_mib))
    plan = planned([image_set("s", "a")], seen, now=NOW + timedelta(seconds=seconds))
    assert [one.key for one in actions_of(plan, StartPull)] == [key("a")] * is_started
    (problem,) = status_of(plan).pinned_image_sets[0].last_failed_generation_errors
    assert ("more is free" in problem) is (free_mib < 110)
