"""JSON values: depth and equality."""

from typing import Any

import pytest

from lading.kernel import json_values


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, True, False),
        (False, 0, False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": None}, {}, False),
        ([1], [1, 2], False),
    ],
)
def test_values_are_equal_as_json_has_it(left: Any, right: Any, equal: bool) -> None:
    assert json_values.are_equal(left, right) is equal
    assert json_values.are_equal(right, left) is equal


@pytest.mark.parametrize(("levels", "too_deep"), [(199, False), (200, True), (100_000, True)])
def test_depth_has_a_limit(levels: int, too_deep: bool) -> None:
    value: Any = []
    for _ in range(levels):
        value = [value]
    assert json_values.is_too_deep(value) is too_deep
    while value:
        value = value[0]  # taken apart from the outside: freeing a deep value recurses


@pytest.mark.parametrize("value", ["0", "[]", "{}"])
def test_values_are_counted_without_decoding_them(value: str) -> None:
    half = json_values.VALUES_MAX // 2 - 1
    assert not json_values.are_too_many(f"[{','.join([value] * half)}]".encode())
    many = f"[{','.join([value] * (2 * half + 3))}]"
    assert json_values.are_too_many(many.encode())
