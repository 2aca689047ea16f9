"""Durations in Go's form."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import durations
from lading.kernel.errors import Malformed


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("2m", 120), ("1h30m", 5400), ("250ms", 0.25), ("1.5h", 5400), ("-5s", -5)],
)
def test_a_duration_has_its_value(text: str, seconds: float) -> None:
    assert durations.parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "1d", "1h-5m", "∞"])
def test_a_malformed_duration_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="expected a duration such as"):
        durations.parse(text)


def test_a_duration_that_go_cannot_hold_is_refused() -> None:
    with pytest.raises(Malformed, match="292 years"):
        durations.parse("2600000h")


@given(st.integers(min_value=0, max_value=10**12))
def test_a_duration_is_read_back_the_same(microseconds: int) -> None:
    duration = timedelta(microseconds=microseconds)
    assert durations.parse(durations.format_duration(duration)) == duration
