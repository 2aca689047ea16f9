"""When a status may be written: state at once, progress at an interval, a flood evenly."""

from datetime import UTC, datetime, timedelta

import pytest

from lading.kernel import pacing
from lading.kernel.pacing import Pacing, Writes

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PACING = Pacing(
    nodes_unpaced=0,
    interval_per_node=timedelta(seconds=6),
    interval_max=timedelta(seconds=30),
    burst=3,
)


def ago(*seconds: float) -> Writes:
    return tuple(NOW - timedelta(seconds=one) for one in seconds)


@pytest.mark.parametrize(
    ("writes", "state_changed", "seconds"),
    [
        ((), False, 0),
        (ago(1), False, 11),
        (ago(100, 1), False, 11),
        (ago(1), True, 0),
        (ago(2, 1), True, 0),
        (ago(3, 2, 1), True, 9),
        (ago(29, 2, 1), True, 1),
        (ago(31, 2, 1), True, 0),
        (ago(9, 8, 3, 2, 1), True, 9),
        (ago(-3600), False, 0),
        (ago(-3600, -3600, -3600), True, 0),
    ],
    ids=[
        "the first is written at once",
        "progress waits for its interval",
        "the interval counts from the last write",
        "a change of state does not wait",
        "nor do a few of them",
        "after a burst, writes are spread over the interval",
        "or come when the burst is over, if that is sooner",
        "a burst that is long ago holds back nothing",
        "only the last writes count for the burst",
        "progress after the clock was set back is written at once",
        "and so is a change of state",
    ],
)
def test_when_a_status_is_due(writes: Writes, state_changed: bool, seconds: float) -> None:
    due = PACING.due_at(writes, nodes=2, state_changed=state_changed, now=NOW)
    assert max(due, NOW) == NOW + timedelta(seconds=seconds)


def test_only_so_many_writes_are_remembered() -> None:
    writes: Writes = ()
    for second in range(100):
        writes = pacing.with_write(writes, NOW + timedelta(seconds=second))
    assert len(writes) == pacing.WRITES_KEPT
    assert writes[-1] == NOW + timedelta(seconds=99)


@pytest.mark.parametrize(("nodes", "seconds"), [(1, 0), (10, 0), (11, 10), (50, 400), (5000, 600)])
def test_the_larger_the_fleet_the_more_rarely_progress_is_written(nodes: int, seconds: int) -> None:
    assert Pacing().progress_interval(nodes) == timedelta(seconds=seconds)


def test_progress_of_a_small_fleet_is_limited_by_the_burst_only() -> None:
    few, many = ago(2, 1), ago(3, 2, 1)
    pacing_ = Pacing(burst=3)
    assert pacing_.due_at(few, nodes=3, state_changed=False, now=NOW) == NOW
    assert pacing_.due_at(many, nodes=3, state_changed=False, now=NOW) > NOW
