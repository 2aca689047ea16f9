"""Merge patch: the examples and the laws of RFC 7396."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.servers.kube.merge import merge_patch
from lading.servers.kube.merge.errors import PatchError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)
OBJECT = st.dictionaries(st.text(max_size=2), JSON)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(document: Any, patch: Any, expected: Any) -> None:
    assert merge_patch.apply(document, patch) == expected


@pytest.mark.parametrize("patch", [[1], 3, "x", None])
def test_a_patch_that_is_no_object_is_refused(patch: Any) -> None:
    with pytest.raises(PatchError, match="error decoding patch"):
        merge_patch.apply({}, patch)


@given(OBJECT, OBJECT)
def test_applying_a_patch_twice_is_applying_it_once(document: Any, patch: Any) -> None:
    once = merge_patch.apply(document, patch)
    assert merge_patch.apply(once, patch) == once


@given(OBJECT)
def test_an_empty_patch_changes_nothing(document: Any) -> None:
    assert merge_patch.apply(document, {}) == document


@given(OBJECT)
def test_a_patch_on_nothing_is_the_patch_without_its_nulls(patch: Any) -> None:
    assert merge_patch.apply({}, patch) == without_nulls(patch)
