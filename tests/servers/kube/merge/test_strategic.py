"""Strategic merge patch on built-in kinds: their schema says which lists merge."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.servers.kube import builtins
from lading.servers.kube.merge import strategic
from lading.servers.kube.merge.errors import PatchError

SCHEMAS = {kind.kind: kind.schema for kind in builtins.kinds()}


def patched(spec: Any, patch: Any) -> Any:
    return strategic.apply(SCHEMAS["Pod"], {"spec": spec}, {"spec": patch})["spec"]


WEB = {"name": "web", "image": "web:1", "args": ["a"]}
SIDE = {"name": "side", "image": "side:1"}


def test_containers_merge_by_name() -> None:
    patch = {"containers": [{"name": "web", "image": "web:2"}]}
    expected = {"containers": [{**WEB, "image": "web:2"}, SIDE]}
    assert patched({"containers": [WEB, SIDE]}, patch) == expected


def test_a_new_container_comes_before_those_the_patch_does_not_name() -> None:
    assert patched({"containers": [WEB]}, {"containers": [SIDE]}) == {"containers": [SIDE, WEB]}


def test_a_container_is_deleted_by_directive() -> None:
    patch = {"containers": [{"name": "web", "$patch": "delete"}]}
    assert patched({"containers": [WEB, SIDE]}, patch) == {"containers": [SIDE]}


def test_a_whole_list_is_replaced_by_directive() -> None:
    patch = {"containers": [SIDE, {"$patch": "replace"}]}
    assert patched({"containers": [WEB]}, patch) == {"containers": [SIDE]}


def test_a_list_without_a_merge_key_is_replaced() -> None:
    patch = {"containers": [{"name": "web", "args": ["b"]}]}
    assert patched({"containers": [WEB]}, patch) == {"containers": [{**WEB, "args": ["b"]}]}


def test_a_null_removes_and_directives_never_stay() -> None:
    patch = {"nodeName": None, "securityContext": {"$patch": "replace", "runAsUser": 1}}
    before = {"nodeName": "n", "securityContext": {"runAsGroup": 2}}
    assert patched(before, patch) == {"securityContext": {"runAsUser": 1}}


def test_an_object_is_emptied_by_directive() -> None:
    assert patched({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"$patch": "delete"}}) == {
        "nodeSelector": {}
    }


def test_retained_keys_are_the_only_ones_left() -> None:
    volume = {"name": "v", "emptyDir": {}}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {}}]}
    assert patched({"volumes": [volume]}, patch) == {"volumes": [{"name": "v", "hostPath": {}}]}


def test_finalizers_are_a_set_from_which_some_can_be_taken() -> None:
    before = {"metadata": {"finalizers": ["a/a", "b/b"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/a"], "finalizers": ["c/c"]}}
    after = strategic.apply(SCHEMAS["Pod"], before, patch)
    assert after == {"metadata": {"finalizers": ["c/c", "b/b"]}}


def test_the_order_in_the_patch_is_kept_and_the_servers_own_items_keep_their_place() -> None:
    before = {"containers": [{"name": "injected"}, {"name": "a"}, {"name": "b"}]}
    patch = {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}
    names = [each["name"] for each in patched(before, patch)["containers"]]
    assert names == ["injected", "b", "a"]


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"containers": [{"image": "x"}]}, "does not contain declared merge key: name"),
        ({"nodeSelector": {"$patch": "frob"}}, "unknown patch type: frob in map"),
        ({"nodeSelector": {"$retainKeys": "a"}}, "invalid patch format of retainKeys"),
        ({"$setElementOrder/containers": 5}, "invalid patch format of setElementOrder list"),
        ({"containers": ["x"]}, "expected a list of objects"),
    ],
)
def test_a_malformed_directive_is_refused(patch: Any, text: str) -> None:
    with pytest.raises(PatchError, match=text):
        patched({"containers": [WEB], "nodeSelector": {"a": "b"}}, patch)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "$patch", "$retainKeys", "spec", "containers", "finalizers"])
            | st.sampled_from(["$setElementOrder/containers", "metadata", "volumes"]),
            inner,
        )
    ),
    max_leaves=10,
)


@given(ANYTHING, ANYTHING)
def test_no_patch_breaks_anything_but_itself(document: Any, patch: Any) -> None:
    if not isinstance(document, dict):
        document = {"spec": {"containers": [WEB, SIDE]}}
    with contextlib.suppress(PatchError):
        assert isinstance(strategic.apply(SCHEMAS["Pod"], document, patch), dict)
