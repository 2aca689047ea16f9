"""The judgements of `lading doctor` about the clock, on values."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from lading.cli.doctor import cluster_checks
from lading.cli.doctor.findings import CheckResult

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
