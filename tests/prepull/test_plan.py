"""What becomes of the Setting, the list, the DaemonSet and its pods."""

import copy
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from lading.api.core import DaemonSet
from lading.kernel.planning import LastWrite
from lading.kernel.values import replace
from lading.prepull import holder, plan, rules
from lading.prepull.actions import (
    CreateDaemonSet,
    CreateImage,
    CreateSetting,
    DeleteDaemonSet,
    DeleteImage,
    DeletePod,
    EnsureHoldKey,
    RemoveGate,
    ReplaceDaemonSet,
    WatchImageLists,
)
from lading.prepull.types import (
    LIST_LABEL,
    SETTING_WRITE,
    VOLUMES_WRITE,
    DefaultImage,
    GatedPod,
    LostImages,
    ObservedPrePull,
    PrePullSettings,
    RollOut,
    Setbacks,
    Wave,
)
from tests.prepull.worlds import (
    HOLD_IMAGE,
    KEY,
    NAMESPACE,
    NOW,
    A,
    B,
    daemon_set,
    image,
    setting,
    template_urls,
)

SETTINGS = PrePullSettings()
LISTED = DefaultImage(name="share-manager", url=A)
SECOND = timedelta(seconds=1)


def observed(**more: Any) -> ObservedPrePull:
    usual = ObservedPrePull(
        namespace=NAMESPACE, images=(image(),), setting=setting(), hold_image=HOLD_IMAGE
    )
    return replace(usual, **more)


def settled(seen: ObservedPrePull, settings: PrePullSettings = SETTINGS) -> ObservedPrePull:
    """With the DaemonSet that the plan wants, written by this process."""
    (action,) = plan.plan(seen, settings, NOW).actions
    assert isinstance(action, CreateDaemonSet)
    found = daemon_set(action.body)
    return replace(seen, daemon_set=found, writes=accepted(found))


def accepted(found: DaemonSet) -> dict[str, LastWrite]:
    """The log of this process after it wrote the DaemonSet."""
    name = plan.write_name({"spec": found.spec})
    return {name: LastWrite(body={}, at=NOW, answer=found)}


def actions(seen: ObservedPrePull, settings: PrePullSettings = SETTINGS) -> list[Any]:
    return list(plan.plan(seen, settings, NOW).actions)


def listed_image(listed: DefaultImage, **more: Any) -> Any:
    labels = {LIST_LABEL: listed.name}
    return image(rules.listed_name(listed), listed.url, metadata={"labels": labels}, **more)


def test_a_missing_setting_is_created_with_the_default() -> None:
    for default in (True, False):
        found = actions(observed(setting=None), PrePullSettings(default_value=default))
        created = [one for one in found if isinstance(one, CreateSetting)]
        assert [one.value for one in created] == [str(default).lower()]


def test_the_list_becomes_images_named_by_the_hash_of_the_url() -> None:
    found = plan.plan(observed(images=()), PrePullSettings(images=(LISTED,)), NOW)
    (created,) = found.actions
    assert isinstance(created, CreateImage)
    assert created.name.startswith("share-manager-")
    other = rules.listed_name(replace(LISTED, url=B))
    assert created.name != other
    assert found.recheck_at is not None


def test_a_settled_cluster_costs_nothing() -> None:
    found = plan.plan(settled(observed()), SETTINGS, NOW)
    assert found.actions == ()
    assert found.recheck_at is None


def test_old_images_of_the_list_are_deleted_after_the_daemon_set_has_changed() -> None:
    old, new = LISTED, replace(LISTED, url=B)
    before = settled(observed(images=(listed_image(old),)), PrePullSettings(images=(old,)))
    settings = PrePullSettings(images=(new,))
    (created,) = actions(before, settings)
    assert isinstance(created, CreateImage)
    both = replace(before, images=(listed_image(old), listed_image(new)))
    (replaced,) = actions(both, settings)
    assert isinstance(replaced, ReplaceDaemonSet)
    assert template_urls(replaced.body["spec"]) == [B]
    found = daemon_set(replaced.body)
    (deleted,) = actions(replace(both, daemon_set=found, writes=accepted(found)), settings)
    assert isinstance(deleted, DeleteImage)
    assert deleted.key.name == rules.listed_name(old)


def test_images_made_by_hand_are_never_deleted_by_the_list() -> None:
    assert actions(settled(observed(images=(image("by-hand"),)))) == []


def test_false_deletes_the_daemon_set_and_keeps_the_images() -> None:
    seen = replace(settled(observed()), setting=setting("false"))
    (found,) = actions(seen)
    assert isinstance(found, DeleteDaemonSet)


def test_the_gate_acts_as_the_setting_false() -> None:
    (found,) = actions(replace(settled(observed()), gate_is_on=False))
    assert isinstance(found, DeleteDaemonSet)


def test_an_invalid_value_changes_nothing_also_after_a_restart() -> None:
    was_on = {"conditions": [{"type": "PrePullEnabled", "status": "True", "reason": "Setting"}]}
    was_off = {"conditions": [{"type": "PrePullEnabled", "status": "False", "reason": "Setting"}]}
    on = observed(images=(image(status=was_on),), setting=setting("yes"))
    assert [type(one) for one in actions(on)] == [CreateDaemonSet]
    off = observed(images=(image(status=was_off),), setting=setting("yes"))
    assert actions(off) == []


def test_an_invalid_value_after_the_gate_was_off_leaves_the_decision_to_the_option() -> None:
    condition = {"type": "PrePullEnabled", "status": "False", "reason": "FeatureGateOff"}
    seen = observed(images=(image(status={"conditions": [condition]}),), setting=setting("yes"))
    assert [type(one) for one in actions(seen)] == [CreateDaemonSet]


def test_a_refused_setting_leaves_the_decision_to_the_option() -> None:
    refused = LastWrite(body=None, at=NOW, refusal="not known")
    seen = observed(setting=None, writes={SETTING_WRITE: refused})
    assert [type(one) for one in actions(seen)] == [CreateDaemonSet]
    assert actions(seen, PrePullSettings(default_value=False)) == []


def test_a_foreign_daemon_set_is_left_alone() -> None:
    seen = settled(observed())
    assert seen.daemon_set is not None
    foreign = daemon_set({"metadata": {"name": holder.NAME}, "spec": {}})
    left = replace(seen, daemon_set=foreign)
    assert actions(left) == []
    problem = plan.problem(left, SETTINGS, NOW)
    assert problem is not None
    assert problem.why == "ForeignDaemonSet"


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda spec: spec["template"]["spec"].pop("nodeSelector"), id="removed"),
        pytest.param(lambda spec: spec["template"]["spec"].update(hostPID=True), id="added"),
        pytest.param(lambda spec: spec.update(updateStrategy={"type": "OnDelete"}), id="strategy"),
    ],
)
def test_a_hand_edit_is_repaired(edit: Any) -> None:
    seen = settled(observed())
    assert seen.daemon_set is not None
    spec = copy.deepcopy(seen.daemon_set.spec)
    edit(spec)
    edited = daemon_set({"metadata": {}}, spec=spec, **_metadata(seen))
    (found,) = actions(replace(seen, daemon_set=edited))
    assert isinstance(found, ReplaceDaemonSet)
    assert found.because == "it was changed by hand"


def _metadata(seen: ObservedPrePull) -> dict[str, Any]:
    assert seen.daemon_set is not None
    shown: dict[str, Any] = msgspec.to_builtins(seen.daemon_set.metadata)
    return shown


def test_what_a_webhook_adds_is_no_reason_to_write() -> None:
    seen = settled(observed())
    assert seen.daemon_set is not None
    sidecar = {"name": "sidecar", "image": "x"}
    spec = {**seen.daemon_set.spec, "template": {"spec": {"containers": [sidecar]}}}
    shown = daemon_set({"metadata": {}}, spec=spec, **_metadata(seen))
    added = replace(seen, daemon_set=shown, writes=accepted(shown))
    assert actions(added) == []


def test_a_restarted_controller_writes_the_daemon_set_once() -> None:
    seen = replace(settled(observed()), writes={})
    assert [type(one) for one in actions(seen)] == [ReplaceDaemonSet]


def test_images_that_come_together_are_held_together() -> None:
    seen = replace(settled(observed()), images=(image(), image("b", B)))
    fresh = replace(seen, changed_at=NOW - SECOND, changed_since=NOW - SECOND)
    found = plan.plan(fresh, SETTINGS, NOW)
    assert (found.actions, found.recheck_at) == ((), NOW - SECOND + SETTINGS.quiet)
    long_ago = replace(fresh, changed_since=NOW - timedelta(seconds=15))
    assert [type(one) for one in actions(long_ago)] == [ReplaceDaemonSet]
    quiet = replace(fresh, changed_at=NOW - SETTINGS.quiet, changed_since=NOW - SETTINGS.quiet)
    assert [type(one) for one in actions(quiet)] == [ReplaceDaemonSet]


def test_an_edit_of_the_setting_does_not_wait() -> None:
    seen = replace(settled(observed()), images=(image(), image("b", B)), setting=setting("false"))
    fresh = replace(seen, changed_at=NOW, changed_since=NOW)
    assert [type(one) for one in actions(fresh)] == [DeleteDaemonSet]


def test_without_images_there_is_no_daemon_set() -> None:
    assert actions(observed(images=())) == []
    assert [type(one) for one in actions(replace(settled(observed()), images=()))] == [
        DeleteDaemonSet
    ]


def test_more_than_64_images_do_not_fit_and_the_oldest_are_held() -> None:
    images = [
        image(f"i{n:02}", f"r.example.com/i{n}:1", created=f"2026-01-01T00:{n % 60:02}:0{n // 60}Z")
        for n in range(66)
    ]
    cargo = rules.cargo(images, ())
    assert len(cargo.urls) == 64
    assert set(cargo.problems) == {"i58", "i59"}


@pytest.mark.parametrize("spec", [{}, {"imageURL": A, "instanceManagerImage": B}])
def test_an_image_with_none_or_both_of_its_fields_is_reported(spec: dict[str, str]) -> None:
    """Another owner's definition may let it in."""
    found = rules.cargo((image("both", spec=spec), image("good", B)), ())
    assert found.urls == (B,)
    assert found.problems["both"].message == (
        "spec: exactly one of imageURL and instanceManagerImage must be set"
    )


def test_a_bad_url_is_reported_and_the_others_are_held() -> None:
    cargo = rules.cargo([image("bad", "UPPER CASE"), image("good")], ())
    assert cargo.urls == (A,)
    assert "spec.imageURL" in cargo.problems["bad"].message


def test_two_images_of_one_url_share_a_container_and_both_own_the_daemon_set() -> None:
    cargo = rules.cargo([image("a"), image("same")], ())
    assert (cargo.urls, len(cargo.owners)) == ((A,), 2)


def gated(count: int, **more: Any) -> tuple[GatedPod, ...]:
    return tuple(
        GatedPod(name=f"pod-{n}", uid=f"uid-{n}", node=f"node-{n:02}", **more) for n in range(count)
    )


@pytest.mark.parametrize(
    ("wave", "nodes", "pulling", "started"),
    [
        (Wave(), 20, 0, 2),
        (Wave(), 20, 1, 1),
        (Wave(), 20, 2, 0),
        (Wave(), 20, 5, 0),
        (Wave(), 29, 0, 2),
        (Wave(), 3, 0, 1),
        (Wave(count=7), 20, 0, 7),
        (Wave(percent=50), 20, 0, 10),
    ],
)
def test_a_wave_starts_no_more_nodes_than_may_pull(
    wave: Wave, nodes: int, pulling: int, started: int
) -> None:
    roll_out = RollOut(node_count=nodes, pulling_count=pulling, gated=gated(20))
    seen = replace(settled(observed()), roll_out=roll_out)
    found = actions(seen, PrePullSettings(wave=wave))
    assert [one.node for one in found if isinstance(one, RemoveGate)] == [
        f"node-{n:02}" for n in range(started)
    ]


REPLACEMENT = gated(1, is_replacement=True, adds_images=False)


def test_a_pod_that_replaces_one_that_was_not_ready_and_pulls_nothing_new_goes_at_once() -> None:
    roll_out = RollOut(node_count=20, pulling_count=2, gated=(*REPLACEMENT, *gated(3)[1:]))
    found = actions(replace(settled(observed()), roll_out=roll_out))
    assert [one.node for one in found if isinstance(one, RemoveGate)] == ["node-00"]


def test_a_pod_that_goes_at_once_takes_a_place_of_the_wave() -> None:
    roll_out = RollOut(node_count=20, gated=(*REPLACEMENT, *gated(4)[1:]))
    found = actions(replace(settled(observed()), roll_out=roll_out))
    started = [one.node for one in found if isinstance(one, RemoveGate)]
    assert started == ["node-00", "node-01"], "a wave of two nodes"


def test_nodes_with_a_bad_image_pull_another_one_in_waves_and_come_first() -> None:
    """Their old pods were not ready, and what is new is pulled on each of them."""
    bad = tuple(replace(one, is_replacement=True) for one in gated(20)[5:])
    roll_out = RollOut(node_count=20, gated=(*gated(5), *bad))
    found = actions(replace(settled(observed()), roll_out=roll_out))
    started = [one.node for one in found if isinstance(one, RemoveGate)]
    assert started == ["node-05", "node-06"], "a wave of two nodes"


def test_a_pod_of_a_node_under_disk_pressure_does_not_start() -> None:
    waiting = gated(3, has_pressure=True, is_replacement=True, adds_images=False)
    roll_out = RollOut(node_count=20, gated=waiting)
    assert not actions(replace(settled(observed()), roll_out=roll_out))


def test_after_a_pod_that_failed_the_next_one_of_the_node_starts_with_back_off() -> None:
    failures = {"node-00": Setbacks(count=3, last_at=NOW)}
    roll_out = RollOut(node_count=20, gated=REPLACEMENT, failures=failures)
    seen = replace(settled(observed()), roll_out=roll_out)
    later = plan.plan(seen, SETTINGS, NOW)
    assert (later.actions, later.recheck_at) == ((), NOW + timedelta(seconds=60))
    (found,) = plan.plan(seen, SETTINGS, NOW + timedelta(seconds=60)).actions
    assert isinstance(found, RemoveGate)


def test_a_pod_with_a_lost_image_is_deleted_with_back_off() -> None:
    lost = LostImages(pod="pod-a", uid="uid", node="node-a", containers=("image-a",))
    seen = replace(settled(observed()), roll_out=RollOut(node_count=1, lost=(lost,)))
    (found,) = actions(seen)
    assert isinstance(found, DeletePod)
    before = {"node-a": Setbacks(count=2, last_at=NOW)}
    waits = replace(seen, roll_out=replace(seen.roll_out, deletions=before))
    later = plan.plan(waits, SETTINGS, NOW)
    assert (later.actions, later.recheck_at) == ((), NOW + timedelta(seconds=30))


OLD_NODE = RollOut(node_count=1, obstacles={"node-3": "containerd 1.7.35"})


def test_the_key_is_created_before_a_daemon_set_that_needs_it() -> None:
    seen = observed(roll_out=OLD_NODE)
    made = plan.plan(seen, SETTINGS, NOW)
    (create,) = made.actions
    assert isinstance(create, EnsureHoldKey)
    assert made.recheck_at == NOW, "no cache shows the Secret"
    (written,) = actions(replace(seen, key=KEY))
    assert isinstance(written, CreateDaemonSet)
    assert written.body["spec"]["template"]["spec"]["initContainers"]


def test_image_volumes_need_no_key() -> None:
    (written,) = actions(observed(key=KEY))
    assert isinstance(written, CreateDaemonSet)
    assert "initContainers" not in written.body["spec"]["template"]["spec"]


def test_without_the_key_nothing_is_written_and_the_reason_says_so() -> None:
    seen = observed(roll_out=OLD_NODE, key_problem="secrets is forbidden")
    found = plan.plan(seen, SETTINGS, NOW)
    assert [type(one) for one in found.actions] == [EnsureHoldKey], "it is tried again"
    assert found.recheck_at == NOW + SETTINGS.periods.missing_pods_interval
    problem = plan.problem(seen, SETTINGS, NOW)
    assert problem is not None
    assert problem.why == "HoldKeyUnknown"
    assert problem.message == "Secret lading-system/lading-prepull-key: secrets is forbidden"
    assert plan.problem(replace(seen, roll_out=RollOut()), SETTINGS, NOW) is None


def test_a_refusal_is_reported_as_long_as_the_same_is_to_be_written() -> None:
    seen = replace(settled(observed()), images=(image(), image("b", B)))
    (refused,) = actions(seen)
    writes = {VOLUMES_WRITE: LastWrite(body=refused.body, at=NOW, refusal="no")}
    problem = plan.problem(replace(seen, writes=writes), SETTINGS, NOW)
    assert problem is not None
    assert problem.why == "DaemonSetRefused"
    before = replace(seen, images=(image(),), writes=writes)
    assert plan.problem(before, SETTINGS, NOW) is None, "it is no longer wanted"


@pytest.mark.parametrize("dropped", [True, False])
def test_an_api_server_without_image_volumes_leads_to_containers(dropped: bool) -> None:
    (created,) = actions(observed())
    refusal = "" if dropped else "spec.template.spec.volumes[0].image: forbidden"
    answer = daemon_set(created.body, spec={"template": {}}) if dropped else None
    last = LastWrite(body=created.body, at=NOW, answer=answer, refusal=refusal)
    (written,) = actions(observed(writes={VOLUMES_WRITE: last}, key=KEY))
    assert written.body["spec"]["template"]["spec"]["initContainers"]


def test_the_lists_of_kubelets_are_watched_when_an_agent_is_missed_for_a_while() -> None:
    seen = replace(settled(observed()), roll_out=RollOut(agents_missed_since=NOW))
    grace = SETTINGS.periods.agent_grace
    soon = plan.plan(seen, SETTINGS, NOW)
    assert (soon.actions, soon.recheck_at) == ((), NOW + grace)
    (watch,) = plan.plan(seen, SETTINGS, NOW + grace).actions
    assert isinstance(watch, WatchImageLists)
    assert plan.plan(replace(seen, reads_image_lists=True), SETTINGS, NOW + grace).actions == ()


def test_an_old_node_changes_the_daemon_set_once() -> None:
    before = settled(observed())
    seen = replace(before, roll_out=OLD_NODE, key=KEY)
    (replaced,) = actions(seen)
    assert isinstance(replaced, ReplaceDaemonSet)
    found = daemon_set(replaced.body)
    after = replace(seen, daemon_set=found, writes=accepted(found))
    assert actions(after) == []
    gone = replace(after, roll_out=RollOut(without_obstacle_since=NOW))
    waits = plan.plan(gone, SETTINGS, NOW)
    assert (waits.actions, waits.recheck_at) == ((), NOW + SETTINGS.periods.holding_settle)


def test_without_lading_s_own_image_there_is_no_daemon_set_and_the_reason_says_so() -> None:
    seen = observed(hold_image="")
    assert actions(seen) == []
    problem = plan.problem(seen, SETTINGS, NOW)
    assert problem is not None
    assert "--prepull-hold-image" in problem.message
