"""Which sets fit on the disk beside what must stay free."""

from typing import Any

import pytest

from lading.kernel import conditions
from lading.kernel.images import Resolution
from lading.pinned_images.node import admission
from lading.pinned_images.node.types import (
    Budget,
    StartPull,
)
from lading.pinned_images.reasons import ConditionType
from lading.ports.node import KubeletLimits, Space
from tests.pinned_images.node.builders import (
    RUNNING,
    UNRESOLVED,
    actions_of,
    budget,
    image_set,
    key,
    layer,
    observed,
    pinned,
    planned,
    present,
    started,
    status_of,
    truth,
)


def test_a_set_that_does_not_fit_is_refused_whole_and_others_are_pulled() -> None:
    seen = observed(known=["a", "b", "c"], budget=budget(free_mib=50))
    plan = planned([image_set("large", "a", "b", "c"), image_set("small", "c")], seen)
    assert [action.key for action in actions_of(plan, StartPull)] == [key("c")]
    (large, small) = status_of(plan).pinned_image_sets
    assert "need 60 MiB of disk space" in large.last_failed_generation_errors[0]
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


def test_a_pull_under_way_keeps_its_room_and_refuses_no_set_for_it() -> None:
    """How much of its 20 MiB it has taken is unknown, so a second one may have to wait."""
    sets = [image_set("s", "a"), image_set("t", "b")]
    known: dict[str, Any] = {"known": ["a", "b"], "pulls": {key("a"): RUNNING}}
    assert started(sets, observed(**known, budget=budget(free_mib=40))) == ["b"]
    waiting = planned(sets, observed(**known, budget=budget(free_mib=39)))
    assert actions_of(waiting, StartPull) == []
    assert [one.last_failed_generation for one in status_of(waiting).pinned_image_sets] == [0, 0]
    refused = planned(sets, observed(**known, budget=budget(free_mib=19)))
    assert [one.last_failed_generation for one in status_of(refused).pinned_image_sets] == [0, 1]


def test_a_large_set_that_cannot_fit_takes_nothing_from_a_small_one() -> None:
    seen = observed(known=["a", "b", "c"], budget=budget(free_mib=50))
    assert started([image_set("large", "a", "b"), image_set("small", "c")], seen) == ["c"]


def test_a_disk_that_is_not_checked_is_reported_and_stops_nothing() -> None:
    seen = observed(known=["a"], disk_unchecked="the agent cannot see /images")
    plan = planned([image_set("s", "a")], seen)
    assert len(actions_of(plan, StartPull)) == 1
    progressing = conditions.find(status_of(plan).conditions, ConditionType.SETS_PROGRESSING)
    assert progressing is not None
    assert "the free space is not checked: the agent cannot see /images" in progressing.message


def test_a_required_check_that_is_not_possible_refuses_what_is_missing() -> None:
    seen = observed("b", known=["a"], pins=pinned("b", by="t"), disk_unchecked="it is not seen")
    plan = planned([image_set("s", "a"), image_set("t", "b")], seen, require_disk_check=True)
    assert actions_of(plan, StartPull) == []
    status = status_of(plan)
    assert truth(status, ConditionType.SETS_DEGRADED) == ("True", "DiskNotChecked")
    assert [one.current_generation for one in status.pinned_image_sets] == [0, 1]


def test_a_required_check_refuses_no_set_that_only_waits_for_its_pins() -> None:
    seen = observed("b", disk_unchecked="it is not seen")
    plan = planned([image_set("t", "b")], seen, require_disk_check=True)
    assert truth(status_of(plan), ConditionType.SETS_DEGRADED) == ("False", "AsExpected")


def test_a_required_check_refuses_an_image_of_unknown_size() -> None:
    sets = [image_set("s", "a"), image_set("t", "b")]
    seen = observed(known=["b"], unresolved={key("a"): UNRESOLVED}, budget=budget(1000))
    assert started(sets, seen) == ["b", "a"]
    assert started(sets, seen, require_disk_check=True) == ["b"]


GIB = 1024**3


def budget_for(eviction_hard: dict[str, str], *, gc_percent: int = 100) -> Budget:
    kubelet = KubeletLimits(image_gc_high_threshold_percent=gc_percent, eviction_hard=eviction_hard)
    return admission.budget(Space(capacity_bytes=100 * GIB, available_bytes=40 * GIB), kubelet)


def test_what_is_free_is_not_all_usable() -> None:
    found = budget_for({}, gc_percent=85)
    assert (found.capacity_bytes, found.free_bytes) == (100 * GIB, 40 * GIB)
    assert (found.reserve_bytes, found.usable_bytes) == (15 * GIB, 25 * GIB)
    assert "starts at 85% disk usage" in found.reserve_reason


@pytest.mark.parametrize(
    ("text", "reserve_bytes"),
    [("20%", 20 * GIB), ("30Gi", 30 * GIB), ("15.5%", 31 * GIB // 2)],
)
@pytest.mark.parametrize("signal", ["imagefs.available", "nodefs.available"])
def test_an_eviction_limit_keeps_its_share(signal: str, text: str, reserve_bytes: int) -> None:
    assert budget_for({signal: text}).reserve_bytes == reserve_bytes


def test_the_strictest_limit_counts_and_is_named() -> None:
    found = budget_for({"imagefs.available": "20%", "nodefs.available": "10%"}, gc_percent=85)
    assert found.reserve_bytes == 20 * GIB
    assert found.reserve_reason == "the kubelet's eviction limit imagefs.available<20%"


@pytest.mark.parametrize("text", ["0%", "0.5%", "1Ki", "a lot", "-50%"])
def test_a_kubelet_cannot_lower_the_default_reserve(text: str) -> None:
    found = budget_for({"imagefs.available": text, "nodefs.available": text}, gc_percent=100)
    assert found.reserve_bytes == 15 * GIB
    assert found.reserve_reason == "the agent's reserve of 15%"


def test_a_disk_fuller_than_its_limit_has_nothing_to_give() -> None:
    assert budget_for({}, gc_percent=50).usable_bytes == 0
