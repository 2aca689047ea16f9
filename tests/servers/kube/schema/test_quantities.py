"""Quantities in their one spelling."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import quantities as numbers
from lading.servers.kube.schema import quantities


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("1000Mi", "1000Mi"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("0.1Gi", "107374182400m"),
        ("1500m", "1500m"),
        ("-2000m", "-2"),
        ("100000k", "100M"),
        ("1E", "1E"),
        ("1e-3", "1e-3"),
        ("0.1n", "1n"),
        ("1x", "1x"),
        (True, True),
    ],
)
def test_a_quantity_is_written_with_the_largest_suffix(given: object, kept: object) -> None:
    assert quantities.canonical(given) == kept


@given(
    st.integers(min_value=-(10**9), max_value=10**9),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "e3"]),
)
def test_the_value_stays_and_a_second_time_changes_nothing(count: int, suffix: str) -> None:
    text = f"{count}{suffix}"
    kept = quantities.canonical(text)
    assert numbers.parse(kept) == numbers.parse(text) + Decimal(0)
    assert quantities.canonical(kept) == kept
