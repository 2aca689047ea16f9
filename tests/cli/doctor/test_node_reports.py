"""The judgements of `lading doctor` about disks, on values."""

import pytest

from lading.cli.doctor import node_reports
from lading.cli.doctor.findings import CheckResult
from lading.ports.disk import Space
from lading.ports.kubelet import KubeletLimits


@pytest.mark.parametrize(
    ("used_percent", "result"), [(0, "ok"), (79, "ok"), (80, "warning"), (85, "failed")]
)
def test_disks_near_the_threshold_of_the_kubelet(used_percent: int, result: str) -> None:
    space = Space(capacity_bytes=1000, available_bytes=1000 - 10 * used_percent)
    found = node_reports.judged("node-1", KubeletLimits(), space, check="Disk")
    assert found.result == result
    assert found.found.startswith(f"node-1: {used_percent}% of the image disk is used")


def test_a_disk_without_a_size_is_full_and_no_crash() -> None:
    space = Space(capacity_bytes=0, available_bytes=0)
    assert (
        node_reports.judged("node-1", KubeletLimits(), space, check="Disk").result
        is CheckResult.FAILED
    )
