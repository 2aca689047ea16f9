"""What one worker node holds and what goes wrong there."""

from array import array
from datetime import timedelta
from typing import Any

import msgspec

from lading.api.core import NodeCondition, NodeStatus, NodeSystemInfo
from lading.kernel.conditions import Truth
from lading.kernel.values import replace
from lading.prepull import holder, nodes
from lading.prepull.nodes import ExpectedDaemonSet
from lading.prepull.presence import ImageList
from lading.prepull.types import ImageReason, NodeRecord, PrePullSettings
from tests.prepull.worlds import HOLD_IMAGE, NOW, A, B, expected, node, pod, running, waiting

NAME_A, NAME_B = holder.container_name(A), holder.container_name(B)
READY = NodeCondition(type="Ready", status=Truth.TRUE)
DISK_PRESSURE = NodeCondition(type="DiskPressure", status=Truth.TRUE)
AWAY = "dial tcp: connection refused"


def record(
    *pods: Any,
    of: Any = None,
    wanted: ExpectedDaemonSet | None = None,
    previous: NodeRecord | None = None,
    now: Any = NOW,
    listed: ImageList | None = None,
) -> NodeRecord:
    found = nodes.record(
        of or node(),
        pods,
        wanted or expected(A),
        PrePullSettings(),
        previous=previous,
        now=now,
        listed=listed,
    )
    assert found is not None
    return found


def test_a_ready_container_holds_its_image() -> None:
    found = record(pod("a", running(A), ready=True))
    assert (found.held, found.is_pulling) == (frozenset({NAME_A}), False)


def test_the_ready_condition_of_the_node_does_not_change_what_is_held() -> None:
    found = record(pod("a", running(A), ready=True), of=node(ready=False))
    assert (found.held, found.is_ready) == (frozenset({NAME_A}), False)


def test_the_old_pod_holds_the_old_image_while_the_new_one_pulls() -> None:
    old = pod("old", running(A), template="t0", ready=True)
    found = record(old, pod("new", waiting(B)), wanted=expected(B))
    assert (found.held, found.is_pulling) == (frozenset({NAME_A}), True)


def test_a_sidecar_that_a_webhook_added_changes_nothing() -> None:
    sidecar = {"name": "sidecar", "ready": False, "state": {"waiting": {"reason": "ErrImagePull"}}}
    found = record(pod("a", running(A), sidecar))
    assert found.held == {NAME_A}
    assert NAME_A not in found.faults
    assert not found.is_pulling


def test_a_pod_of_another_owner_counts_nothing() -> None:
    other = pod("a", running(A), metadata={"ownerReferences": []})
    assert record(other).held == frozenset()


def test_a_node_pulls_while_a_container_is_neither_ready_nor_at_fault() -> None:
    failed = waiting(A, "ErrImagePull", "not found")
    wanted = expected(A, B)
    assert record(pod("a", failed, waiting(B)), wanted=wanted).is_pulling
    assert not record(pod("a", failed, running(B)), wanted=wanted).is_pulling
    assert record(pod("a"), wanted=wanted).is_pulling


def test_a_node_that_is_not_ready_gives_its_place_back() -> None:
    assert not record(pod("a", waiting(A)), of=node(ready=False)).is_pulling


def test_a_gated_pod_waits_and_has_no_fault() -> None:
    found = record(pod("a", gated=True))
    assert found.gated is not None
    assert (found.gated.node, found.gated.is_replacement) == ("node-a", False)
    assert (found.faults, found.is_pulling) == ({}, False)


def test_a_gate_that_was_removed_counts_before_the_cache_shows_it() -> None:
    wanted = expected(A, released=frozenset({"uid-of-a"}))
    found = record(pod("a", gated=True), wanted=wanted)
    assert (found.gated, found.is_pulling) == (None, True)


def test_a_pod_with_a_ready_predecessor_waits_for_its_turn() -> None:
    old = pod("old", running(A), template="t0", ready=True)
    found = record(old, pod("new", gated=True))
    assert found.gated is not None
    assert not found.gated.is_replacement


def test_a_pod_with_a_predecessor_that_is_not_ready_replaces_it_at_once() -> None:
    old = pod("old", waiting(A), template="t0")
    found = record(old, pod("new", gated=True))
    assert found.gated is not None
    assert found.gated.is_replacement


def test_a_predecessor_that_is_gone_already_is_remembered() -> None:
    before = record(pod("old", waiting(A), template="t0"), wanted=expected(A, template="t0"))
    between = record(previous=before)
    found = record(pod("new", gated=True), previous=between)
    assert found.gated is not None
    assert (found.gated.is_replacement, found.gated.adds_images) == (True, False)
    found = record(pod("new", gated=True), previous=between, wanted=expected(A, B))
    assert found.gated is not None
    assert (found.gated.is_replacement, found.gated.adds_images) == (True, True)


def test_a_pod_that_waits_for_the_disk_of_its_node_says_so() -> None:
    full = replace(node(), status=NodeStatus(conditions=(READY, DISK_PRESSURE)))
    old = pod("old", running(A), template="t0", ready=True)
    found = record(old, pod("new", gated=True), of=full, wanted=expected(A, B))
    assert found.gated is not None
    assert found.gated.has_pressure
    assert found.held == {NAME_A}, "the old pod runs"
    assert {name: one.why for name, one in found.faults.items()} == {NAME_B: ImageReason.NO_SPACE}
    assert "DiskPressure" in found.faults[NAME_B].message


def test_a_pod_that_was_deleted_for_a_lost_image_waits_for_its_turn() -> None:
    before = record(pod("old", waiting(A)))
    found = record(pod("new", gated=True), previous=before)
    assert found.gated is not None
    assert not found.gated.is_replacement


def test_older_kubelets_name_the_cause_only_between_two_back_offs() -> None:
    before = record(pod("a", waiting(A, "ErrImagePull", "x: not found")))
    found = record(
        pod("a", waiting(A, "ImagePullBackOff", 'Back-off pulling image "x"')), previous=before
    )
    assert found.faults[NAME_A].why is ImageReason.NOT_FOUND


def test_a_registry_that_is_away_is_a_fault_after_five_minutes() -> None:
    before = record(pod("a", waiting(A, "ErrImagePull", AWAY)))
    later = NOW + timedelta(minutes=4)
    found = record(
        pod("a", waiting(A, "ImagePullBackOff", f"x: {AWAY}")), previous=before, now=later
    )
    fault = found.faults[NAME_A]
    assert fault.since == NOW
    assert not nodes.is_fault(fault, later, timedelta(minutes=5))
    assert nodes.is_fault(fault, NOW + timedelta(minutes=5), timedelta(minutes=5))


def test_a_lost_image_is_not_held_and_names_its_pod() -> None:
    condition = {
        "type": "lading.dev/ImagesPresent",
        "status": "False",
        "reason": "ImagesMissing",
        "message": f"missing: {NAME_A}",
    }
    found = record(pod("a", running(A), running(B), ready=True, conditions=[condition]))
    assert found.held == {NAME_B}
    assert found.lost is not None
    assert (found.lost.pod, found.lost.containers) == ("a", (NAME_A,))


def test_an_image_for_another_platform_is_not_held_and_its_pod_stays() -> None:
    condition = {
        "type": "lading.dev/ImagesPresent",
        "status": "False",
        "reason": "ImagesMissing",
        "message": f"missing: {NAME_A}; wrong platform: {NAME_B}",
    }
    two = pod("a", running(A), running(B), ready=True, conditions=[condition])
    found = record(two, wanted=expected(A, B))
    assert found.held == frozenset()
    assert found.lost is not None
    assert found.lost.containers == (NAME_A,)
    assert found.faults[NAME_B].why is ImageReason.NO_MATCHING_PLATFORM


def test_a_pod_that_ends_holds_nothing() -> None:
    ending = pod("a", running(A), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert record(ending).held == frozenset()


def listing(*names: str) -> ImageList:
    later = NOW + timedelta(hours=1)
    numbers = array("q", sorted(map(hash, names)))
    return ImageList(numbers, True, later, delay=timedelta(minutes=2))


def holder_pod(**more: Any) -> Any:
    started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    found = pod("a", {**running(A), "state": started}, ready=True, **more)
    plain = msgspec.to_builtins(found)
    plain["spec"]["containers"] = [{"name": NAME_A, "image": A}]
    return msgspec.convert(plain, type(found))


def test_without_an_agent_the_list_of_the_kubelet_counts() -> None:
    found = record(holder_pod(), listed=listing("x:1"))
    assert (found.held, found.lost is not None) == (frozenset(), True)
    assert record(holder_pod(), listed=listing(A)).held == {NAME_A}


def volume_pod(url: str) -> Any:
    """It holds the image as a volume, so its container has Lading's own image."""
    name = holder.container_name(url)
    spec = {
        "containers": [{"name": name, "image": HOLD_IMAGE}],
        "volumes": [{"name": name, "image": {"reference": url}}],
    }
    started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return pod("a", {**running(url), "image": HOLD_IMAGE, "state": started}, ready=True, spec=spec)


def test_an_image_volume_is_held_while_the_list_of_the_kubelet_has_its_image() -> None:
    assert record(volume_pod(A), listed=listing(A)).held == {NAME_A}
    assert record(volume_pod(A), listed=listing(HOLD_IMAGE)).held == frozenset()
    short = "busybox"
    held = record(volume_pod(short), listed=listing("quay.example.com/busybox:latest")).held
    assert held == {holder.container_name(short)}, "the list cannot prove that it is gone"


def test_a_ready_container_that_lost_its_image_volume_holds_nothing() -> None:
    lost = pod("a", {**running(A), "image": HOLD_IMAGE}, ready=True)
    assert record(lost).held == frozenset()


def test_the_versions_of_a_node_decide_whether_it_can_mount_image_volumes() -> None:
    assert record().obstacle == ""
    info = NodeSystemInfo(
        kubelet_version="v1.36.3", container_runtime_version="containerd://1.7.35"
    )
    old = replace(node(), status=NodeStatus(node_info=info))
    assert record(of=old).obstacle == "containerd 1.7.35; image volumes need 2.1"


def test_with_an_agent_the_list_of_the_kubelet_does_not_count() -> None:
    seen = {"type": "lading.dev/ImagesPresent", "status": "True", "reason": "AllPresent"}
    assert record(holder_pod(conditions=[seen]), listed=listing("x:1")).held == {NAME_A}


def test_without_an_agent_a_list_of_50_images_proves_nothing() -> None:
    """A list that has the image proves it, and for five minutes an agent may still come."""
    first = record(holder_pod())
    later = NOW + timedelta(minutes=5)
    cut = replace(listing("x:1"), is_whole=False)
    found = record(holder_pod(), previous=first, now=later, listed=cut)
    assert (found.held, found.unknown) == (frozenset(), frozenset({NAME_A}))
    assert found.lost is None
    assert record(holder_pod(), previous=first, listed=cut).held == {NAME_A}
    with_it = replace(listing(A), is_whole=False)
    assert record(holder_pod(), previous=first, now=later, listed=with_it).held == {NAME_A}


def test_a_node_without_an_agent_is_noticed() -> None:
    first = record(holder_pod())
    assert first.without_agent_since == NOW
    later = record(holder_pod(), previous=first, now=NOW + timedelta(minutes=1))
    assert later.without_agent_since == NOW
    seen = {"type": "lading.dev/ImagesPresent", "status": "True", "reason": "AllPresent"}
    assert record(holder_pod(conditions=[seen]), previous=first).without_agent_since is None


def test_an_evicted_pod_does_not_hide_its_successor() -> None:
    evicted = pod("z", status={"phase": "Failed", "reason": "Evicted"})
    found = record(evicted, pod("a", gated=True), wanted=expected(A))
    assert found.gated is not None
    assert found.faults == {}
