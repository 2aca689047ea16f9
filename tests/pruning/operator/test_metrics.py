"""The metrics of the ImagePruner: every value, none that is not known, none without the lead."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from lading.pruning.operator.metrics import ImagePrunerMetrics
from lading.pruning.operator.types import PrunerFacts
from tests.pruning.operator.pruner_worlds import run


def shown(facts: PrunerFacts | None) -> dict[str, float]:
    registry = CollectorRegistry()
    ImagePrunerMetrics(registry, pruner_facts=lambda: facts)
    lines = generate_latest(registry).decode().splitlines()
    values = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name.removeprefix("lading_pruning_"): float(value) for name, value in values}


def test_a_process_that_does_not_lead_has_none() -> None:
    assert shown(None) == {}


def test_what_is_not_known_has_no_value() -> None:
    assert shown(PrunerFacts()) == {
        "exists": 0,
        "scheduled": 0,
        "suspended": 0,
        "last_success_timestamp_seconds": 0,
    }


def at(second: int) -> datetime:
    return datetime.fromtimestamp(second, tz=UTC)


def test_every_fact_has_its_value() -> None:
    swept = run(
        name="main.blobs",
        candidates=4,
        deleted=3,
        released_bytes=200,
        freed_bytes=100,
        kept={"Needed": 9},
        unknown_references=2,
    )
    facts = PrunerFacts(
        exists=True,
        is_scheduled=True,
        is_suspended=True,
        has_failed=True,
        scheduled_since=at(10),
        active_since=at(20),
        last_success=at(30),
        period=timedelta(hours=1),
        last_duration=timedelta(minutes=1),
        runs=(swept,),
    )
    label = '{registry="main.blobs"}'
    assert shown(facts) == {
        "exists": 1,
        "scheduled": 1,
        "suspended": 1,
        "failed": 1,
        "scheduled_since_timestamp_seconds": 10,
        "active_since_timestamp_seconds": 20,
        "last_success_timestamp_seconds": 30,
        "period_seconds": 3600,
        "last_duration_seconds": 60,
        f"candidates{label}": 4,
        f"deleted{label}": 3,
        f"released_bytes{label}": 200,
        f"freed_bytes{label}": 100,
        f"unknown_references{label}": 2,
        'kept{reason="Needed",registry="main.blobs"}': 9,
    }


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("exists", PrunerFacts(exists=True)),
        ("scheduled", PrunerFacts(is_scheduled=True)),
        ("suspended", PrunerFacts(is_suspended=True)),
    ],
)
def test_each_flag_is_its_own(name: str, facts: PrunerFacts) -> None:
    values = shown(facts)
    assert (sum(values.values()), values[name]) == (1, 1)
