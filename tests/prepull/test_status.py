"""The status of one Image."""

import json
from datetime import timedelta
from typing import Any

import msgspec

from lading.api.longhorn import Image, ImageState, ImageStatus
from lading.kernel import conditions
from lading.kernel.planning import Plan, RecordEvent
from lading.kernel.values import replace
from lading.prepull import apply
from lading.prepull import status as statuses
from lading.prepull.actions import WriteImageStatus
from lading.prepull.status import ImageFacts
from lading.prepull.types import (
    EnabledBy,
    Enablement,
    Fault,
    ImageReason,
    NodeRecord,
    ObservedPrePull,
    PrePullProblem,
    RollOut,
)
from tests.prepull.worlds import NAMESPACE, NOW, image

ON = Enablement(is_on=True, by=EnabledBy.SETTING, message="on")
OFF = Enablement(is_on=False, by=EnabledBy.SETTING, message="off")
HELD = NodeRecord(is_ready=True, held=frozenset({"c"}))
PULLS = NodeRecord(is_ready=True)
NOT_READY = NodeRecord(is_ready=False)
FAULTY = NodeRecord(is_ready=True, faults={"c": Fault(why=ImageReason.NOT_FOUND, message="gone")})
AWAY = NodeRecord(
    is_ready=True,
    faults={"c": Fault(why=ImageReason.REGISTRY_UNAVAILABLE, message="away", since=NOW)},
)


def observed(enablement: Enablement = ON, **nodes: NodeRecord) -> ImageFacts:
    return ImageFacts(
        image=image(),
        prepull=ObservedPrePull(namespace=NAMESPACE),
        enablement=enablement,
        container="c",
        nodes=nodes,
        owner_id="leader",
    )


def status(seen: ImageFacts, now: Any = NOW) -> ImageStatus:
    write = statuses.plan_status(seen, now).actions[0]
    assert isinstance(write, WriteImageStatus)
    return write.status


def summary(seen: ImageFacts) -> tuple[str, str]:
    found = status(seen)
    condition = conditions.find(found.conditions, "Deployed")
    assert condition is not None
    return found.state, condition.reason


def written(seen: ImageFacts, found: ImageStatus) -> ImageFacts:
    """As the next observation shows it."""
    shown = replace(seen.image, status=found)
    return replace(
        seen,
        image=shown,
        status_at=NOW,
        states_written=seen.states_written | {ImageState(found.state)},
    )


def test_turned_off_the_state_is_unknown_and_the_map_empty() -> None:
    found = status(observed(OFF, a=HELD))
    assert (found.state, found.node_deployment_map, found.node_count) == ("unknown", {}, 0)


def test_what_decides_is_reported_at_once() -> None:
    """Within 30 seconds after a write, although the state is the same."""
    seen = observed(a=HELD)
    after = written(seen, status(seen))
    assert statuses.plan_status(after, NOW).actions == ()
    invalid = Enablement(is_on=True, by=EnabledBy.SETTING_INVALID, message="maybe")
    found = conditions.find(status(replace(after, enablement=invalid)).conditions, "PrePullEnabled")
    assert found is not None
    assert found.reason == "SettingInvalid"


def test_a_fault_of_a_ready_node_is_an_error() -> None:
    seen = observed(a=HELD, b=FAULTY)
    assert summary(seen) == ("error", "ImageNotFound")
    found = status(seen)
    assert [(one.node, one.reason) for one in found.failures] == [("b", "ImageNotFound")]
    assert found.failed_node_count == 1


def test_a_fault_of_a_node_that_is_not_ready_is_no_error() -> None:
    assert summary(observed(a=HELD, b=replace(FAULTY, is_ready=False))) == ("deployed", "Deployed")


def test_deployed_when_all_ready_nodes_hold_it() -> None:
    seen = observed(a=HELD, b=NOT_READY)
    assert summary(seen) == ("deployed", "Deployed")
    found = status(seen)
    assert found.node_deployment_map == {"a": True, "b": False}
    assert (found.node_count, found.deployed_node_count, found.owner_id) == (2, 1, "leader")


def test_the_map_is_about_the_container_and_not_about_the_node() -> None:
    found = status(observed(a=HELD, b=replace(HELD, is_ready=False)))
    assert found.node_deployment_map == {"a": True, "b": True}
    assert found.deployed_node_count == 2


def test_deploying_while_a_ready_node_pulls_or_none_is_ready() -> None:
    assert summary(observed(a=HELD, b=PULLS)) == ("deploying", "Deploying")
    assert summary(observed(a=NOT_READY)) == ("deploying", "Deploying")


def test_a_node_that_proves_nothing_is_neither_true_nor_false_and_the_state_is_unknown() -> None:
    unproven = replace(HELD, held=frozenset(), unknown=HELD.held)
    seen = observed(a=HELD, b=unproven)
    assert summary(seen) == ("unknown", "NotVerified")
    found = status(seen)
    assert found.node_deployment_map == {"a": True}
    assert (found.node_count, found.deployed_node_count) == (2, 1)
    assert summary(observed(a=PULLS, b=unproven)) == ("deploying", "Deploying")


def test_without_worker_nodes_the_reason_says_so() -> None:
    assert summary(observed()) == ("deploying", "NoEligibleNodes")


def test_a_registry_that_is_away_is_an_error_only_after_five_minutes() -> None:
    seen = observed(a=AWAY)
    assert summary(seen) == ("deploying", "Deploying")
    assert statuses.plan_status(seen, NOW).recheck_at == NOW + timedelta(minutes=5)
    assert status(seen, NOW + timedelta(minutes=5)).state == "error"


QUOTA = Fault(why=ImageReason.QUOTA, message="exceeded quota")


def test_a_quota_is_a_fault_of_nodes_that_lack_a_pod_for_half_a_minute() -> None:
    lacking = replace(PULLS, without_pod_since=NOW)
    seen = replace(observed(a=lacking, b=HELD), creation_failure=QUOTA)
    assert summary(seen) == ("deploying", "Deploying")
    found = status(seen, NOW + timedelta(seconds=30))
    assert [(one.node, one.reason) for one in found.failures] == [("a", "QuotaExceeded")]


def test_in_an_upgrade_a_quota_is_no_fault_of_what_an_old_pod_holds() -> None:
    old = replace(HELD, without_pod_since=NOW)
    seen = replace(observed(a=old), creation_failure=QUOTA)
    assert status(seen, NOW + timedelta(seconds=30)).failures == ()


def test_while_a_node_lacks_a_pod_its_status_is_looked_at_again() -> None:
    prepull = ObservedPrePull(namespace=NAMESPACE, roll_out=RollOut(without_pod_since=NOW))
    seen = replace(observed(a=replace(PULLS, without_pod_since=NOW)), prepull=prepull)
    assert statuses.plan_status(seen, NOW).recheck_at == NOW + timedelta(seconds=30)


def test_a_pull_secret_that_is_missing_is_named_with_the_fix() -> None:
    refused = Fault(why=ImageReason.UNAUTHORIZED, message="x: 401 Unauthorized")
    seen = observed(a=replace(PULLS, faults={"c": refused}), b=FAULTY)
    named, absent = status(replace(seen, missing_secrets=("regcred",))).failures
    assert named.message == (
        "x: 401 Unauthorized The kubelet did not find the Secret regcred of --prepull-pull-secret "
        "in the controller's namespace. Create it, or correct the option."
    )
    assert absent.message == "gone"


def test_problems_are_reported_with_their_reason() -> None:
    def with_problem(why: ImageReason) -> ImageFacts:
        return replace(observed(a=PULLS), problem=PrePullProblem(why=why, message="what to do"))

    assert summary(with_problem(ImageReason.TOO_MANY_IMAGES)) == ("error", "TooManyImages")
    assert summary(with_problem(ImageReason.INVALID_IMAGE)) == ("error", "InvalidImage")
    assert summary(with_problem(ImageReason.FOREIGN_DAEMON_SET)) == (
        "deploying",
        "ForeignDaemonSet",
    )


def test_the_status_says_what_decides() -> None:
    refused = Enablement(is_on=True, by=EnabledBy.SETTING_REFUSED, message="the option decides")
    found = conditions.find(status(observed(refused, a=HELD)).conditions, "PrePullEnabled")
    assert found is not None
    assert (found.reason, found.status) == ("SettingRefused", "True")


def test_at_rest_nothing_is_written() -> None:
    seen = observed(a=HELD)
    assert statuses.plan_status(written(seen, status(seen)), NOW + timedelta(hours=1)) == Plan()


def test_a_flapping_node_costs_one_write_in_30_seconds() -> None:
    seen = observed(a=HELD)
    seen = written(written(seen, status(seen)), status(replace(seen, nodes={"a": PULLS})))
    flapped = replace(seen, nodes={"a": HELD})
    soon = statuses.plan_status(flapped, NOW + timedelta(seconds=29))
    assert (soon.actions, soon.recheck_at) == ((), NOW + timedelta(seconds=30))
    assert statuses.plan_status(flapped, NOW + timedelta(seconds=30)).actions


def test_a_state_that_is_reached_first_is_written_at_once() -> None:
    seen = observed(a=PULLS)
    seen = written(seen, status(seen))
    assert status(replace(seen, nodes={"a": HELD}), NOW + timedelta(seconds=1)).state == "deployed"


def test_turning_off_and_on_is_written_at_once() -> None:
    seen = observed(a=HELD)
    seen = written(seen, status(seen))
    off = replace(seen, enablement=OFF)
    assert status(off, NOW).state == "unknown"
    assert status(replace(written(off, status(off, NOW)), enablement=ON), NOW).state == "deployed"


def test_a_change_of_state_is_an_event() -> None:
    found = statuses.plan_status(observed(a=FAULTY), NOW).actions
    (event,) = (one for one in found if isinstance(one, RecordEvent))
    assert (event.reason, event.warning) == ("ImageNotFound", True)
    seen = observed(a=HELD)
    seen = written(seen, status(seen))
    grown = statuses.plan_status(
        replace(seen, nodes={"a": HELD, "b": HELD}), NOW + timedelta(minutes=1)
    )
    assert [type(one) for one in grown.actions] == [WriteImageStatus]


def test_with_5000_nodes_an_image_stays_below_512_kib() -> None:
    for length in (63, 253):
        nodes = {f"{n:05}".rjust(length, "n"): FAULTY if n % 2 else HELD for n in range(5000)}
        long = replace(FAULTY, faults={"c": Fault(why=ImageReason.NOT_FOUND, message="m" * 300)})
        nodes |= {name: long for name, one in nodes.items() if one is FAULTY}
        found = apply.with_zero_counts(status(replace(observed(), nodes=nodes)))
        whole = {**msgspec.to_builtins(image()), "status": found}
        assert len(json.dumps(whole)) < 512 * 1024
        shown = msgspec.convert(whole, Image).status
        message = getattr(conditions.find(shown.conditions, "Deployed"), "message", "")
        listed = shown.node_deployment_map
        assert (shown.node_count, shown.deployed_node_count) == (5000, 2500)
        if length == 63:
            assert len(listed) == 5000
            assert "nodeDeploymentMap" not in message
        else:
            assert len(listed) < 5000
            assert not any(listed.values()), "nodes without the image come first"
            assert f"nodeDeploymentMap lists {len(listed)} of 5000 nodes" in message
