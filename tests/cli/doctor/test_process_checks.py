"""The judgements of `lading doctor` about gates and pods, on values."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lading.adapters.kube.client import KubeClient
from lading.api.core import LeaseSpec
from lading.cli.doctor import process_checks
from lading.cli.doctor.findings import CheckResult
from lading.ports.http import Request, Response


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
    assert found[-1].found == "On in only one of the two: PinnedImages."
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
    assert process_checks.ready(kind, "lading", status, "lading-system").result == result


@pytest.mark.parametrize(
    ("holder", "renewed_at", "result"),
    [
        ("lading-1", "2026-01-01T11:59:58.000000Z", "ok"),
        ("lading-1", "2026-01-01T11:58:59.000000Z", "failed"),
        ("", "2026-01-01T11:59:58.000000Z", "warning"),
        ("", "2026-01-01T11:58:59.000000Z", "failed"),
        ("", None, "failed"),
    ],
)
def test_a_lease_without_a_holder_fails_only_after_a_while(
    holder: str, renewed_at: str | None, result: str
) -> None:
    lease = LeaseSpec(holder_identity=holder, renew_time=renewed_at)
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert process_checks.leadership(lease, now).result == result


@pytest.mark.parametrize(("is_allowed", "result"), [(True, "ok"), (False, "warning")])
async def test_the_rights_of_a_user(is_allowed: bool, result: str) -> None:
    async def reviews(request: Request) -> Response:
        assert request.path.endswith("/selfsubjectaccessreviews")
        body = msgspec.json.encode({"status": {"allowed": is_allowed}})
        return Response(status=201, headers={"content-type": "application/json"}, body=body)

    (found,) = [one async for one in process_checks.rights(KubeClient(reviews))]
    assert found.result == result
    assert ("patch pinnedimagesets (lading apply)" in found.found) is not is_allowed
    assert bool(found.next_step) is not is_allowed


def installed(
    *, denied: str = "", has_lease: bool = True, missing: tuple[str, ...] = ()
) -> KubeClient:
    """Processes run; their accounts lack the right to this resource."""
    ready = {"replicas": 1, "readyReplicas": 1, "desiredNumberScheduled": 1, "numberReady": 1}

    async def exchange(request: Request) -> Response:
        status, body = 200, {**workload(args=["x"]), "metadata": {}, "status": ready}
        if "subjectaccessreviews" in request.path:
            asked = msgspec.json.decode(request.body)["spec"]["resourceAttributes"]["resource"]
            status, body = 201, {"status": {"allowed": asked != denied}}
        if "leases" in request.path:
            lease = {"holderIdentity": "a", "renewTime": "9999-01-01T00:00:00.000000Z"}
            status, body = (200, {"metadata": {}, "spec": lease}) if has_lease else (404, {})
        if request.path.endswith(missing):
            status, body = 404, {}
        headers = {"content-type": "application/json"}
        return Response(status=status, headers=headers, body=msgspec.json.encode(body))

    return KubeClient(exchange)


BOTH_MISSING = (
    "The namespace lading-system has no Deployment lading-controller and the namespace"
    " lading-agents has no DaemonSet lading-agent."
)


@pytest.mark.parametrize(
    ("missing", "result", "found"),
    [
        (
            ("/lading-agent",),
            "warning",
            "The namespace lading-agents has no DaemonSet lading-agent.",
        ),
        (
            ("deployments/lading-controller", "/lading-agent"),
            "skipped",
            BOTH_MISSING,
        ),
    ],
)
async def test_processes_that_are_missing_are_one_finding(
    missing: tuple[str, ...], result: str, found: str
) -> None:
    checks = [one async for one in process_checks.processes(installed(missing=missing))]
    (finding,) = [one for one in checks if one.result is not CheckResult.OK]
    assert (finding.check, finding.result) == ("Processes", result)
    assert finding.found == found
    assert "docs/install.md" in finding.next_step


async def test_processes_that_are_in_order() -> None:
    found = [one async for one in process_checks.processes(installed())]
    assert {one.result for one in found} == {"ok"}
    assert found[-1].found.startswith("a is the leader")


async def test_a_right_that_an_account_lacks_is_named_with_its_namespace() -> None:
    found = [one async for one in process_checks.processes(installed(denied="leases"))]
    (lacking,) = [one for one in found if one.result is CheckResult.FAILED]
    assert lacking.check == "Rights"
    assert "lading-controller may not: " in lacking.found
    assert " leases in lading-system" in lacking.found


@pytest.mark.parametrize("denied", ["clusterroles", "machinesets"])
async def test_rights_to_single_names_and_of_features_that_are_off_are_not_asked_for(
    denied: str,
) -> None:
    found = [one async for one in process_checks.processes(installed(denied=denied))]
    assert {one.result for one in found} == {"ok"}


async def test_a_controller_that_never_was_the_leader_fails() -> None:
    found = [one async for one in process_checks.processes(installed(has_lease=False))]
    (failed,) = [one for one in found if one.result is CheckResult.FAILED]
    assert failed.found == "No controller has been the leader yet."
