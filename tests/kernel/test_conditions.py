"""Conditions: what moves the transition time."""

from datetime import UTC, datetime, timedelta

import pytest

from lading.kernel import conditions
from lading.kernel.conditions import Condition, Truth

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def degraded(status: Truth, message: str = "") -> Condition:
    return Condition(type="Degraded", status=status, reason="Test", message=message)


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = conditions.with_condition((), degraded(Truth.TRUE, "one"), now=NOON)
    same = conditions.with_condition(first, degraded(Truth.TRUE, "two"), now=LATER)
    other = conditions.with_condition(same, degraded(Truth.FALSE), now=LATER)
    assert same[0].message == "two"
    assert same[0].last_transition_time == "2026-01-01T12:00:00Z"
    assert other[0].last_transition_time == "2026-01-01T12:05:00Z"


def test_other_conditions_stay_and_the_order_is_stable() -> None:
    ready = Condition(type="Ready", status=Truth.TRUE, reason="Test")
    both = conditions.with_condition(
        conditions.with_condition((), ready, now=NOON), degraded(Truth.FALSE), now=NOON
    )
    assert [condition.type for condition in both] == ["Degraded", "Ready"]
    assert conditions.is_true(both, "Ready")
    assert not conditions.is_true(both, "Degraded")
    assert conditions.find(both, "Absent") is None


def test_the_message_of_a_condition_is_bounded() -> None:
    message = "\x1b[2J" + "x " * 100_000 + "https://cdn.example.com/?verify=hunter2"
    new = Condition(type="Degraded", status=Truth.TRUE, reason="Because", message=message)
    [kept] = conditions.with_condition((), new, now=NOON)
    assert len(kept.message) <= 4096
    assert "\x1b" not in kept.message
    assert "hunter2" not in kept.message


@pytest.mark.parametrize(
    ("before", "after", "is_changed"),
    [
        (Truth.FALSE, Truth.TRUE, True),
        (Truth.TRUE, Truth.FALSE, True),
        (Truth.TRUE, Truth.TRUE, False),
        (Truth.UNKNOWN, Truth.FALSE, False),
    ],
)
def test_a_condition_changed_if_it_became_true_or_is_no_longer_true(
    before: Truth, after: Truth, is_changed: bool
) -> None:
    found = [*conditions.changed((degraded(before),), (degraded(after),))]
    assert found == ([degraded(after)] if is_changed else [])


def test_several_conditions_are_about_one_generation() -> None:
    other = Condition(type="Ready", status=Truth.FALSE, reason="Test")
    new = (degraded(Truth.TRUE), other)
    found = conditions.with_conditions((), new, generation=7, now=NOON)
    assert [(one.type, one.observed_generation) for one in found] == [("Degraded", 7), ("Ready", 7)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-16T00:00:00Z", datetime(2026, 11, 16, tzinfo=UTC)),
        ("2026-11-16T01:00:00+01:00", datetime(2026, 11, 16, tzinfo=UTC)),
        ("2026-11-16T00:00:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_an_instant_has_a_time_zone(text: str, expected: datetime | None) -> None:
    assert conditions.instant(text) == expected
