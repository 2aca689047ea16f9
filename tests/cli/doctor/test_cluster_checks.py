"""The judgements of `lading doctor` about the clock, and about checks that fail."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from lading.adapters.kube.client import KubeClient
from lading.cli.doctor import cluster_checks, findings
from lading.cli.doctor.cluster_checks import ClusterCheck
from lading.cli.doctor.findings import CheckFinding, CheckResult
from lading.ports import kube
from lading.ports.http import Request, Response
from lading.wiring.features import DEFINITIONS

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "result"),
    [(0, "ok"), (-4, "ok"), (5, "warning"), (-59, "warning"), (60, "failed"), (-3600, "failed")],
)
def test_clocks_apart(seconds: int, result: str) -> None:
    theirs = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    found = cluster_checks.clock(theirs, NOW)
    assert found.result == result
    assert f"{abs(seconds)} s apart" in found.found
    assert bool(found.next_step) == (result != "ok")


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_a_server_without_a_date_is_skipped(date: str) -> None:
    assert cluster_checks.clock(date, NOW).result is CheckResult.SKIPPED


def raising(error: Exception) -> ClusterCheck:
    async def check(_: KubeClient, /) -> AsyncIterator[CheckFinding]:
        raise error
        yield findings.ok("Kinds", "never")

    return check


async def silent(_: KubeClient, /) -> AsyncIterator[CheckFinding]:
    await asyncio.Event().wait()
    yield findings.ok("Kinds", "never")


async def no_server(request: Request) -> Response:
    raise AssertionError(f"no check asks for {request.path}")


@pytest.mark.parametrize(
    ("check", "result", "step"),
    [
        (raising(kube.Forbidden("you may not")), "skipped", "as an administrator"),
        (raising(kube.Unavailable("it is down")), "failed", "check that the cluster runs"),
        (silent, "failed", "check the network"),
    ],
)
async def test_a_check_that_cannot_be_made_says_why(
    monkeypatch: pytest.MonkeyPatch, check: ClusterCheck, result: str, step: str
) -> None:
    monkeypatch.setattr(cluster_checks, "CHECK_SECONDS_MAX", 0.05)
    (found,) = await cluster_checks._made("Kinds", KubeClient(no_server), check)
    assert (found.check, found.result) == ("Kinds", result)
    assert step in found.next_step


async def test_a_server_that_takes_no_credentials_fails() -> None:
    """Anyone may read its version."""

    async def exchange(request: Request) -> Response:
        status, body = (200, b'{"gitVersion": "v1"}') if request.path == "/version" else (401, b"")
        return Response(status=status, headers={"content-type": "application/json"}, body=body)

    client = KubeClient(exchange)
    (found,) = await cluster_checks._made("API server", client, cluster_checks.api_server)
    assert found.result is CheckResult.FAILED


def of_another_owner(served: str) -> KubeClient:
    """All our kinds are there, with this version."""

    async def exchange(request: Request) -> Response:
        name = request.path.rpartition("/")[2]
        body: dict[str, object] = {"metadata": {}, "items": []}
        if name != "customresourcedefinitions":
            versions = [{"name": served, "served": True}]
            body = {"metadata": {"name": name}, "spec": {"versions": versions}}
        headers = {"content-type": "application/json"}
        return Response(status=200, headers=headers, body=msgspec.json.encode(body))

    return KubeClient(exchange)


async def test_a_kind_of_another_owner_fails_only_without_the_version_that_is_needed() -> None:
    found = [one async for one in cluster_checks.definitions(of_another_owner("v1beta2"))]
    needed = {one.name: one.versions[-1] for one in DEFINITIONS}
    assert len(found) == len(needed)
    for one in found:
        name = one.found.partition(" ")[0]
        is_served = needed[name] == "v1beta2"
        assert one.result is (CheckResult.OK if is_served else CheckResult.FAILED)
        assert ("upgrade that owner" in one.next_step) is not is_served
    assert {one.result for one in found} == {CheckResult.OK, CheckResult.FAILED}
