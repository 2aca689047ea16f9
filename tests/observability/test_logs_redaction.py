"""The values of a log line: by the names of fields, and in any depth and width."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.observability import logs


class Signed:
    def __str__(self) -> str:
        return "https://cdn.example.com/x?verify=hunter2"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "hunter2"),
        ("registryToken", "hunter2"),
        ("Authorization", "Basic hunter2"),
        (".dockerconfigjson", "hunter2"),
        ("headers", {"authorization": "hunter2"}),
        ("auths", [{"quay.io": {"identity_token": "hunter2"}}]),
        ("error", "GET https://me:hunter2@quay.io/v2/ failed"),
        ("error", ValueError("https://me:hunter2@quay.io/v2/")),
        ("error", Signed()),
        ("urls", {"https://me:hunter2@quay.io/v2/": 1}),
        ("exception", "Traceback\n  https://me:hunter2@quay.io/v2/"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_what_looks_like_a_secret_is_left_out(name: str, value: Any) -> None:
    assert "hunter2" not in str(logs.bounded_field(name, value))


def test_numbers_and_flags_stay_what_they_are() -> None:
    fields = {"images": 3, "seconds": 0.5, "pinned": True, "error": None, "token": None}
    assert logs.bounded_value(fields) == fields


def test_of_many_items_the_first_are_shown() -> None:
    shown = logs.bounded_value({"images": list(range(100_000))})
    assert len(shown["images"]) == logs.ITEMS_MAX + 1
    assert shown["images"][-1] == "… (100000 items)"
    assert len(logs.bounded_value(dict.fromkeys(range(1000)))) == logs.ITEMS_MAX + 1


def test_a_value_that_is_too_deep_is_not_shown() -> None:
    value: Any = "deep"
    for _ in range(1000):
        value = [value]
    assert "deep" not in str(logs.bounded_value(value))


@given(
    st.recursive(
        st.none() | st.text(max_size=20) | st.integers() | st.binary(max_size=20),
        lambda s: st.lists(s) | st.dictionaries(st.text(max_size=20), s),
    )
)
def test_any_value_can_be_bounded_twice(value: Any) -> None:
    once = logs.bounded_value(value)
    assert logs.bounded_value(once) == once
