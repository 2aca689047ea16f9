"""JSON patch, merge patch and strategic merge patch: all of a patch, or none of it."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.embedded.kube import builtins, patches
from lading.embedded.kube.patches import PatchError

SCHEMAS = {kind.kind: kind.schema for kind in builtins.kinds()}
DOCUMENT: dict[str, Any] = {"data": {"a/b": "1", "x": "y"}, "list": [1, 2, 3]}
WEB = {"name": "web", "image": "web:1", "args": ["a"]}
SIDE = {"name": "side", "image": "side:1"}


def patched(*operations: Any) -> dict[str, Any]:
    return patches.apply_json(DOCUMENT, list(operations))


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (operation("add", "/data/n", value=1), {"data": {"a/b": "1", "x": "y", "n": 1}}),
        (operation("add", "/list/1", value=9), {"list": [1, 9, 2, 3]}),
        (operation("add", "/list/-", value=9), {"list": [1, 2, 3, 9]}),
        (operation("remove", "/data/a~1b"), {"data": {"x": "y"}}),
        (operation("replace", "/list/0", value=7), {"list": [7, 2, 3]}),
        (operation("copy", "/z", **{"from": "/list"}), {"z": [1, 2, 3]}),
        (operation("test", "/data/x", value="y"), {}),
    ],
)
def test_an_operation_changes_only_what_it_names(
    change: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert patched(change) == {**DOCUMENT, **expected}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (operation("remove", "/data/nope"), 422),
        (operation("add", "/nope/deeper", value=1), 422),
        (operation("test", "/data/x", value="z"), 422),
        (operation("add", "/list/9", value=1), 422),
        (operation("addne", "/data/x", value=1), 422),
        (operation("add", "data", value=1), 422),
        (operation("add", "/data/x"), 422),
        (operation("replace", "", value=3), 422),
        ("not an operation", 400),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(change: Any, code: int) -> None:
    with pytest.raises(PatchError) as refusal:
        patched(change)
    assert refusal.value.code == code


def test_a_failing_operation_leaves_the_document_as_it_was() -> None:
    before = {"data": {"x": "y"}}
    with pytest.raises(PatchError, match=r'remove "/nope" does not apply'):
        patches.apply_json(before, [operation("remove", "/data/x"), operation("remove", "/nope")])
    assert before == {"data": {"x": "y"}}


def test_operations_copies_and_depth_are_limited() -> None:
    with pytest.raises(PatchError, match="at most 1000 operations"):
        patched(*[operation("test", "/data/x", value="y")] * 1_001)
    doubling = [operation("copy", "/list/-", **{"from": "/list"})] * 40
    with pytest.raises(PatchError, match="larger than 3145728 bytes"):
        patched(*doubling)
    deeper = [operation("add", "/data" + "/a" * level, value={}) for level in range(1, 300)]
    with pytest.raises(PatchError, match="it nests deeper than 200 levels"):
        patched(*deeper)


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_follows_the_examples_of_its_rfc(
    document: Any, patch: Any, expected: Any
) -> None:
    assert patches.apply_merge(document, patch) == expected


def merged(spec: Any, patch: Any) -> Any:
    return patches.apply_strategic(SCHEMAS["Pod"], {"spec": spec}, {"spec": patch})["spec"]


@pytest.mark.parametrize(
    ("spec", "patch", "expected"),
    [
        (
            {"containers": [WEB, SIDE]},
            {"containers": [{"name": "web", "image": "web:2"}]},
            {"containers": [{**WEB, "image": "web:2"}, SIDE]},
        ),
        (
            {"containers": [WEB, SIDE]},
            {"containers": [{"name": "web", "$patch": "delete"}]},
            {"containers": [SIDE]},
        ),
        (
            {"containers": [WEB]},
            {"containers": [SIDE, {"$patch": "replace"}]},
            {"containers": [SIDE]},
        ),
        (
            {"containers": [WEB]},
            {"containers": [{"name": "web", "args": ["b"]}]},
            {"containers": [{**WEB, "args": ["b"]}]},
        ),
        (
            {"nodeName": "n", "securityContext": {"runAsGroup": 2}},
            {"nodeName": None, "securityContext": {"$patch": "replace", "runAsUser": 1}},
            {"securityContext": {"runAsUser": 1}},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {}}]},
            {"volumes": [{"name": "v", "hostPath": {}}]},
        ),
        (
            {"containers": [WEB, SIDE, {"name": "injected"}]},
            {"$setElementOrder/containers": [{"name": "side"}, {"name": "web"}]},
            {"containers": [SIDE, WEB, {"name": "injected"}]},
        ),
    ],
)
def test_a_strategic_patch_merges_as_the_schema_says(spec: Any, patch: Any, expected: Any) -> None:
    assert merged(spec, patch) == expected


def test_finalizers_are_a_set_from_which_some_can_be_taken() -> None:
    before = {"metadata": {"finalizers": ["a/a", "b/b"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/a"], "finalizers": ["c/c"]}}
    after = patches.apply_strategic(SCHEMAS["Pod"], before, patch)
    assert after == {"metadata": {"finalizers": ["b/b", "c/c"]}}


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"containers": [{"image": "x"}]}, "does not contain declared merge key: name"),
        ({"nodeSelector": {"$patch": "frob"}}, "unknown patch type: frob"),
        ({"nodeSelector": {"$retainKeys": "a"}}, "invalid patch format"),
        ({"$setElementOrder/containers": 5}, "invalid patch format"),
        ({"containers": ["x"]}, "expected a list of objects"),
    ],
)
def test_a_malformed_directive_is_refused(patch: Any, text: str) -> None:
    with pytest.raises(PatchError, match=text):
        merged({"containers": [WEB], "nodeSelector": {"a": "b"}}, patch)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "$patch", "$retainKeys", "spec", "containers", "finalizers"])
            | st.sampled_from(["$setElementOrder/containers", "metadata", "op", "path", "value"]),
            inner | st.sampled_from(["add", "copy", "move", "/list/0", "/data"]),
        )
    ),
    max_leaves=10,
)


@given(ANYTHING, ANYTHING)
def test_no_patch_breaks_anything_but_itself(document: Any, patch: Any) -> None:
    if not isinstance(document, dict):
        document = {**DOCUMENT, "spec": {"containers": [WEB, SIDE]}}
    with contextlib.suppress(PatchError):
        assert isinstance(patches.apply_strategic(SCHEMAS["Pod"], document, patch), dict)
    with contextlib.suppress(PatchError):
        assert isinstance(patches.apply_merge(document, patch), dict)
    with contextlib.suppress(PatchError):
        assert isinstance(patches.apply_json(document, patch), dict)
