"""What a MachineConfiguration shows about all machine sets together."""

from typing import Any

import msgspec
import pytest

from lading.api.machineconfiguration.boot_image_history import MachineSetBootImageHistory
from lading.api.operator import MachineConfiguration, MachineConfigurationStatus
from lading.boot_images import status
from lading.boot_images.status import ObservedConfiguration
from lading.kernel import conditions
from lading.kernel.conditions import Truth
from lading.kernel.values import replace
from tests.boot_images.histories import history
from tests.boot_images.worlds import NOW, configuration


def reported(
    *histories: MachineSetBootImageHistory,
    of: tuple[MachineConfiguration, ...] = (configuration(),),
    is_on: bool = True,
) -> dict[str, Any] | None:
    """What is written into the first; None when nothing is."""
    observed = ObservedConfiguration(
        name=of[0].metadata.name, configurations=of, histories=histories
    )
    found = status.plan(observed, NOW, is_on=is_on).actions
    return dict(found[0].status) if found else None  # type: ignore[attr-defined]


def condition(found: dict[str, Any] | None, type_: str) -> tuple[str, str, str]:
    assert found is not None
    (one,) = [each for each in found["conditions"] if each["type"] == type_]
    return one["status"], one["reason"], one["message"]


@pytest.mark.parametrize(
    ("states", "is_working", "message"),
    [
        ([], "False", "0 of 0 machine sets updated, 0 skipped"),
        (["Current", "Current"], "False", "2 of 2 machine sets updated, 0 skipped"),
        (["Current", "Updating"], "True", "1 of 2 machine sets updated, 0 skipped"),
        (
            ["Waiting"],
            "True",
            "0 of 1 machine sets updated, 0 skipped, 1 waiting: set-0 is Waiting",
        ),
        (["Current", "Skipped", "Manual"], "False", "1 of 3 machine sets updated, 2 skipped"),
        (["Current", "NotEnrolled"], "False", "1 of 1 machine sets updated, 0 skipped"),
        (["Current", "Failed"], "False", "1 of 2 machine sets updated, 0 skipped"),
    ],
)
def test_progress_counts_machine_sets(states: list[str], is_working: str, message: str) -> None:
    found = reported(*(history(f"set-{index}", one) for index, one in enumerate(states)))
    assert condition(found, status.PROGRESSING)[::2] == (is_working, message)


def test_failing_sets_are_named_and_then_counted() -> None:
    many = [history(f"set-{index:02}", "Failed") for index in range(12)]
    truth, reason, message = condition(reported(*many), status.DEGRADED)
    assert (truth, reason) == ("True", "Because")
    assert message.startswith("set-00: set-00 is Failed; ")
    assert message.endswith("set-09: set-09 is Failed; and 2 more")


def test_sets_that_fail_differently_share_a_reason_of_their_own() -> None:
    found = reported(history("a", "Failed", "One"), history("b", "Failed", "Two"))
    assert condition(found, status.DEGRADED)[1] == "MachineSetsFailed"


def test_what_the_sets_wait_for_is_named_once() -> None:
    sets = [history(name, "Waiting", "ReleaseNotProven") for name in ("a", "b")]
    proof = replace(sets[0].status, message="no ready aarch64 node runs release 4.21.3 yet")
    found = reported(*(replace(one, status=proof) for one in sets))
    _, _, message = condition(found, status.PROGRESSING)
    assert message == f"0 of 2 machine sets updated, 0 skipped, 2 waiting: {proof.message}"


def test_a_set_that_is_gone_does_not_count() -> None:
    found = reported(history("a", "Failed", removed_time="2026-11-15T00:00:00Z"))
    assert condition(found, status.DEGRADED)[0] == "False"


def test_two_opt_ins_are_named_in_an_order_that_does_not_change() -> None:
    two = (configuration(), configuration("cluster"))
    for of in (two, two[::-1]):
        found = reported(history("a", "Skipped"), of=of)
        _, reason, message = condition(found, status.PROGRESSING)
        assert reason == "OptInAmbiguous"
        assert "MachineConfiguration default and " in message


def test_a_configuration_of_another_name_gets_no_status() -> None:
    assert reported(history("a", "Current"), of=(configuration("other"), configuration())) is None
    assert reported(history("a", "Current"), of=(configuration("cluster"),)) is not None


def with_status(found: dict[str, Any]) -> MachineConfiguration:
    status_ = msgspec.convert(found, MachineConfigurationStatus)
    return replace(configuration(), status=status_)


def test_what_is_written_once_is_not_written_again() -> None:
    found = reported(history("a", "Current"))
    assert found is not None
    assert reported(history("a", "Current"), of=(with_status(found),)) is None


def test_an_opt_out_and_a_gate_that_is_off_clear_the_conditions() -> None:
    found = reported(history("a", "Current"))
    assert found is not None
    before = with_status(found)
    spec = configuration(managedBootImageConfig={"mode": "Disabled"}).spec
    opted_out = reported(of=(replace(before, spec=spec),))
    switched_off = reported(of=(before,), is_on=False)
    for after in (opted_out, switched_off):
        assert after is not None
        assert after["conditions"] == []
        assert after["bootImageUpdates"]["mode"] == "Disabled"


def test_a_gate_that_was_never_on_writes_nothing() -> None:
    assert reported(is_on=False) is None


def test_a_condition_of_another_operator_is_not_touched() -> None:
    found = {"managedBootImagesStatus": {"machineManagers": [{}]}, "conditions": []}
    assert reported(history("a", "Skipped"), of=(with_status(found),)) is None


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    found = reported(history("a", "Current"))
    assert found is not None
    old = "2020-01-01T00:00:00Z"
    for one in found["conditions"]:
        one["lastTransitionTime"] = old
    after = reported(history("a", "Failed"), of=(with_status(found),))
    assert after is not None
    times = {one["type"]: one["lastTransitionTime"] for one in after["conditions"]}
    assert times == {status.PROGRESSING: old, status.DEGRADED: conditions.timestamp(NOW)}
    assert Truth.TRUE in {one["status"] for one in after["conditions"]}


def pool_condition(
    *histories: MachineSetBootImageHistory,
    pool: str = "worker",
    mode: str = "Enabled",
    is_on: bool = True,
) -> tuple[str, str, bool] | None:
    """Status and message, and whether the pool is Degraded by it; None when there is none."""
    of = (configuration(managedBootImageConfig={"mode": mode}),)
    found = status.pool_facts(pool, of, histories, is_on=is_on)
    if found is None:
        return None
    (one,) = found.conditions
    assert one.type == "BootImageUpdateDegraded"
    assert found.degraded in (None, one)
    return one.status, one.message, found.degraded is not None


def test_a_failing_set_degrades_the_worker_pool_and_clears() -> None:
    failed = history("a", "Failed")
    assert pool_condition(failed) == ("True", "a: a is Failed", True)
    assert pool_condition(history("a", "Current")) == ("False", "No errors", False)


def test_other_pools_an_opt_out_and_a_gate_that_is_off_contribute_nothing() -> None:
    failed = history("a", "Failed")
    assert pool_condition(failed, pool="master") is None
    assert pool_condition(failed, mode="Disabled") is None
    assert pool_condition(failed, is_on=False) is None


def test_where_another_operator_manages_boot_images_nothing_is_contributed() -> None:
    theirs = with_status({"managedBootImagesStatus": {"machineManagers": [{}]}, "conditions": []})
    assert status.pool_facts("worker", (theirs,), (history("a", "Failed"),), is_on=True) is None
