"""Kubernetes quantities, read exactly and shown for people."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import quantities
from lading.kernel.errors import Malformed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("16Gi", 16 * 1024**3),
        ("1.5Ki", 1536),
        ("500m", Decimal("0.5")),
        ("1k", 1000),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("-2M", -2_000_000),
        (".5", Decimal("0.5")),
        ("5.", 5),
        ("1n", Decimal("1e-9")),
        ("1u", Decimal("1e-6")),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1Mi", 1024**2),
        ("1Ti", 1024**4),
        ("1Pi", 1024**5),
        ("1Ei", 1024**6),
        ("1e10", 10**10),
        ("1e-3", Decimal("0.001")),
        ("0" * 63 + "1", 1),
    ],
)
def test_a_quantity_has_its_exact_value(text: str, value: Decimal) -> None:
    assert quantities.parse(text) == value


@pytest.mark.parametrize(
    "text", ["", "Gi", "1 Gi", "1KiB", "1K", "0x1", "1e", "1e999", "--1", "0" * 65]
)
def test_a_malformed_quantity_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="quantity"):
        quantities.parse(text)


@pytest.mark.parametrize(
    ("text", "count"), [("1Ki", 1024), ("1.1", 2), ("100m", 1), ("0.5Ki", 512), ("-1.5", -1)]
)
def test_a_fraction_of_a_byte_is_a_whole_one(text: str, count: int) -> None:
    assert quantities.parse_bytes(text) == count


@given(st.integers(min_value=0, max_value=2**60))
def test_bytes_are_shown_without_being_off_by_a_unit(count: int) -> None:
    number, unit = quantities.format_bytes(count).split()
    factor = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].index(unit)
    assert abs(float(number) * factor - count) <= count * 0.006


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1000 * 1024, "1000 KiB"),
     (1_023_700, "1000 KiB"), (-2048, "-2 KiB"), (-1000 * 1024, "-1000 KiB"),
     (1024**2 - 1, "1 MiB"), (1023 * 1024**2, "1023 MiB"), (3000 * 1024**5, "3000 PiB")],
)  # fmt: skip
def test_bytes_are_shown_as_people_write_them(count: int, text: str) -> None:
    assert quantities.format_bytes(count) == text


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_is_refused(text: str) -> None:
    try:
        quantities.parse(text)
    except Malformed as error:
        assert error.reason
