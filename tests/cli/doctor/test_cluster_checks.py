"""The judgements of `lading doctor` about the clock, and about checks that fail."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from lading.adapters.kube.client import KubeClient
from lading.cli.doctor import cluster_checks, findings
from lading.cli.doctor.cluster_checks import ClusterCheck
from lading.cli.doctor.findings import CheckFinding, CheckResult
from lading.ports import kube
from lading.ports.http import Request, Response

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
    """Its version it tells anyone."""

    async def exchange(request: Request) -> Response:
        status, body = (200, b'{"gitVersion": "v1"}') if request.path == "/version" else (401, b"")
        return Response(status=status, headers={"content-type": "application/json"}, body=body)

    client = KubeClient(exchange)
    (found,) = await cluster_checks._made("API server", client, cluster_checks.api_server)
    assert found.result is CheckResult.FAILED
