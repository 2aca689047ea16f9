"""JSON patch: all operations or none, with errors that say which path was wrong."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.servers.kube.merge import json_patch
from lading.servers.kube.merge.errors import PatchError

DOCUMENT: dict[str, Any] = {"data": {"a/b": "1", "x": "y"}, "list": [1, 2, 3]}


def patched(*operations: Any) -> dict[str, Any]:
    return json_patch.apply(DOCUMENT, list(operations))


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (operation("add", "/data/n", value=1), {"data": {"a/b": "1", "x": "y", "n": 1}}),
        (operation("add", "/list/1", value=9), {"list": [1, 9, 2, 3]}),
        (operation("add", "/list/-", value=9), {"list": [1, 2, 3, 9]}),
        (operation("remove", "/data/a~1b"), {"data": {"x": "y"}}),
        (operation("remove", "/list/0"), {"list": [2, 3]}),
        (operation("replace", "/list/0", value=7), {"list": [7, 2, 3]}),
        (operation("replace", "/data/new", value=7), {"data": {"a/b": "1", "x": "y", "new": 7}}),
        (operation("add", "/list/-1", value=9), {"list": [1, 2, 3, 9]}),
        (operation("add", "/list/-4", value=9), {"list": [9, 1, 2, 3]}),
        (operation("remove", "/list/-1"), {"list": [1, 2]}),
        (operation("replace", "/list/-1", value=7), {"list": [1, 2, 7]}),
        (operation("copy", "/z", **{"from": "/list"}), {"z": [1, 2, 3]}),
        (operation("copy", "/z", **{"from": "/data/nope"}), {"z": None}),
        (operation("test", "/data/nope", value=None), {}),
        (operation("test", "/data/x", value="y"), {}),
    ],
)
def test_an_operation_changes_only_what_it_names(
    change: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert patched(change) == {**DOCUMENT, **expected}


def test_a_value_moves() -> None:
    moved = patched(operation("move", "/x", **{"from": "/data/x"}))
    assert moved == {"data": {"a/b": "1"}, "list": [1, 2, 3], "x": "y"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (operation("remove", "/data/nope"), 422),
        (operation("add", "/nope/deeper", value=1), 422),
        (operation("replace", "/nope/deeper", value=1), 422),
        (operation("test", "/data/x", value="z"), 422),
        (operation("test", "/list/0", value=True), 422),
        (operation("add", "/list/9", value=1), 422),
        (operation("add", "/list/x", value=1), 422),
        (operation("add", "/list/-5", value=1), 422),
        (operation("remove", "/list/-4"), 422),
        (operation("remove", "/data/#x"), 422),
        (operation("test", "/data/#x", value="x"), 422),
        (operation("test", "/data/~x", value="x"), 422),
        (operation("remove", "/list/#1"), 422),
        (operation("remove", "/list/#1x"), 422),
        (operation("remove", "/list/1_0"), 422),
        (operation("move", "/list/0", **{"from": "/list/3"}), 422),
        (operation("move", "/data/x/y", **{"from": "/data/x"}), 422),
        (operation("add", "/list/99999999999", value=1), 422),
        (operation("frob", "/data"), 422),
        (operation("add", "data", value=1), 422),
        (operation("add", "/data/x"), 422),
        (operation("replace", "", value=3), 422),
        (operation("replace", "", value='{"a": 1}'), 422),
        ("not an operation", 400),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(change: Any, code: int) -> None:
    with pytest.raises(PatchError) as refusal:
        patched(change)
    assert refusal.value.code == code


def test_a_refusal_names_the_operation_and_the_path() -> None:
    with pytest.raises(PatchError, match=r'remove "/data/nope" does not apply: can\'t remove'):
        patched(operation("remove", "/data/nope"))


def test_a_failing_operation_leaves_the_document_as_it_was() -> None:
    before = {"data": {"x": "y"}}
    with pytest.raises(PatchError):
        json_patch.apply(before, [operation("remove", "/data/x"), operation("remove", "/nope")])
    assert before == {"data": {"x": "y"}}


def test_the_number_of_operations_is_limited() -> None:
    with pytest.raises(PatchError, match="The allowed maximum operations in a JSON patch is 10000"):
        patched(*[operation("test", "/data/x", value="y")] * 10_001)


@pytest.mark.parametrize("levels", [300, 1500])
def test_a_document_does_not_become_deeper_than_it_may_be(levels: int) -> None:
    deeper = [operation("add", "/data" + "/a" * level, value={}) for level in range(1, levels)]
    copied = operation("copy", "/copy", **{"from": "/data"})
    with pytest.raises(PatchError, match="it nests deeper than 200 levels"):
        patched(*deeper, copied)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
            optional={
                "path": ANYTHING | st.sampled_from(["/data", "/data/x", "/list/0", "/list/-"]),
                "from": ANYTHING | st.sampled_from(["/data", "/list/1"]),
                "value": ANYTHING,
            },
        )
        | ANYTHING,
        max_size=3,
    )
)
def test_no_patch_breaks_anything_but_itself(operations: Any) -> None:
    try:
        result = json_patch.apply(DOCUMENT, operations)
    except PatchError:
        return
    assert isinstance(result, dict)
