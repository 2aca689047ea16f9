"""When a status may be written: withdrawals at once, good news soon, progress at an interval."""

from datetime import UTC, datetime, timedelta

import pytest

from lading.kernel.pacing import Change, Pacing

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PACING = Pacing(
    news_interval_per_node=timedelta(seconds=2),
    nodes_unpaced=0,
    interval_per_node=timedelta(seconds=6),
    interval_max=timedelta(seconds=30),
)
A_SECOND_AGO = NOW - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("last", "change", "nodes", "seconds"),
    [
        (None, Change.PROGRESS, 2, 0),
        (A_SECOND_AGO, Change.WITHDRAWAL, 1000, 0),
        (A_SECOND_AGO, Change.NEWS, 2, 3),
        (A_SECOND_AGO, Change.NEWS, 1000, 29),
        (A_SECOND_AGO, Change.PROGRESS, 2, 11),
        (A_SECOND_AGO, Change.PROGRESS, 1000, 29),
        (NOW + timedelta(hours=1), Change.PROGRESS, 2, 0),
    ],
    ids=[
        "the first is written at once",
        "a claim is withdrawn at once in the largest fleet",
        "good news waits, by the number of nodes",
        "but not longer than the maximum",
        "progress waits longer",
        "but not longer than the maximum either",
        "after the clock was set back nothing waits",
    ],
)
def test_when_a_status_is_due(
    last: datetime | None, change: Change, nodes: int, seconds: float
) -> None:
    due = PACING.due_at(last, change, nodes=nodes, now=NOW)
    assert max(due, NOW) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(("nodes", "seconds"), [(1, 0), (10, 0), (11, 10), (50, 400), (5000, 600)])
def test_the_larger_the_fleet_the_more_rarely_progress_is_written(nodes: int, seconds: int) -> None:
    assert Pacing().interval(Change.PROGRESS, nodes) == timedelta(seconds=seconds)
