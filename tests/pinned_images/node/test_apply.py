"""What the actions of a plan write."""

from lading.api.machineconfiguration.machine_config_node import MachineConfigNodeStatus
from lading.kernel.conditions import Condition, Truth
from lading.pinned_images.node import apply, report


def test_only_our_own_conditions_are_written() -> None:
    found = tuple(
        Condition(type=type_, status=Truth.TRUE, reason="Because")
        for type_ in ("Updated", report.PROGRESSING, report.DEGRADED)
    )
    body = apply.status_body(MachineConfigNodeStatus(conditions=found))
    assert [one["type"] for one in body["conditions"]] == [report.PROGRESSING, report.DEGRADED]
