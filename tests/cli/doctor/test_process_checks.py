"""The judgements of `lading doctor` about gates and pods, on values."""

from typing import Any

import pytest

from lading.cli.doctor import process_checks
from lading.cli.doctor.findings import CheckResult


def workload(**container: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


@pytest.mark.parametrize(
    ("container", "gates"),
    [
        ({"args": ["agent", "--feature-gates=PrePull=false"]}, "PrePull=false"),
        ({"env": [{"name": "LADING_FEATURE_GATES", "value": "A=true"}]}, "A=true"),
        ({"args": ["agent"], "env": [{"name": "NODE", "valueFrom": {}}]}, ""),
    ],
)
def test_the_gates_of_a_workload(container: dict[str, Any], gates: str) -> None:
    assert process_checks.gates_in(workload(**container)) == gates


def test_gates_that_differ_are_a_warning() -> None:
    found = list(process_checks.gates({"controller": "", "agent": "PinnedImages=false"}))
    assert [one.result for one in found] == ["ok", "ok", "warning"]
    assert found[-1].found == "On in one process only: PinnedImages."
    assert "PinnedImages=false" in found[1].found


def test_equal_gates_are_in_order() -> None:
    found = list(process_checks.gates({"controller": "PrePull=false", "agent": "PrePull=false"}))
    assert [one.result for one in found] == ["ok", "ok"]


def test_an_unknown_gate_fails() -> None:
    (found,) = process_checks.gates({"controller": "Pinned=true"})
    assert found.result is CheckResult.FAILED
    assert "expected one of PinnedImages" in found.found


@pytest.mark.parametrize(
    ("kind", "status", "result"),
    [
        ("Deployment", {"replicas": 2, "readyReplicas": 2}, "ok"),
        ("Deployment", {"replicas": 2, "readyReplicas": 1}, "failed"),
        ("Deployment", {}, "failed"),
        ("DaemonSet", {"desiredNumberScheduled": 3, "numberReady": 3}, "ok"),
        ("DaemonSet", {"desiredNumberScheduled": 3}, "failed"),
    ],
)
def test_pods_that_are_ready(kind: str, status: dict[str, int], result: str) -> None:
    assert process_checks.ready(kind, "lading", status).result == result
