"""Objects of the wrong shape at every level: filled or refused, never a crash."""

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lading.embedded.kube import builtins
from lading.embedded.kube.applying import server_side
from lading.embedded.kube.applying.paths import ApplyConflict, ApplyError
from lading.embedded.kube.builtins import checks, defaults, metadata
from lading.embedded.kube.resources import Resource
from lading.embedded.kube.schema import definition, structural, validation
from lading.embedded.kube.schema.causes import Reason
from tests.fuzz import harness

KINDS = builtins.kinds()
NUMBER = st.integers() | st.floats(allow_nan=False)
SCALAR = st.none() | st.booleans() | NUMBER | st.text(max_size=3)
IDENTITY = {"metadata": {"name": "x", "uid": "u", "namespace": "n"}}
KEYWORDS = (
    "type properties items additionalProperties required default enum pattern allOf not nullable "
    "x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-validations rule x spec"
)


def documents(schema: dict[str, Any], depth: int = 5) -> st.SearchStrategy[Any]:
    """Values near the schema: its field names, with right and wrong values below them."""
    if depth == 0:
        return SCALAR
    wrong = SCALAR | st.lists(SCALAR, max_size=2) | st.dictionaries(st.text(max_size=2), SCALAR)
    if schema.get("properties"):
        fields = {key: documents(below, depth - 1) for key, below in schema["properties"].items()}
        names = st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)
        near = names.flatmap(lambda chosen: st.fixed_dictionaries({k: fields[k] for k in chosen}))
        return near | wrong
    if isinstance(schema.get("items"), dict):
        return (
            st.lists(st.deferred(lambda: documents(schema["items"], depth - 1)), max_size=2) | wrong
        )
    return wrong


@functools.cache
def documents_of(group: str, name: str) -> st.SearchStrategy[Any]:
    """Made once for each kind: to make it costs ten times what one draw costs."""
    (kind,) = (one for one in KINDS if (one.group, one.kind) == (group, name))
    return documents(kind.schema, 4)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.group}/{kind.kind}")
@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_any_object_of_a_built_in_kind_is_filled_or_refused(
    kind: Resource, data: st.DataObject
) -> None:
    drawn = data.draw(documents_of(kind.group, kind.kind))
    document = {**drawn, **IDENTITY} if isinstance(drawn, dict) else IDENTITY
    harness.check(lambda: fill_and_judge(kind, document), refusals=())


def fill_and_judge(kind: Resource, document: dict[str, Any]) -> None:
    kept, _ = structural.prune(kind.schema, document)
    begun = defaults.begin(kind.group, kind.kind, structural.default(kind.schema, kept))
    filled = defaults.fill(kind.group, kind.kind, begun)
    found = validation.validate(kind.schema, filled)
    if any(cause.reason == Reason.TYPE_INVALID for cause in found):
        return
    metadata.problems(kind.group, kind.kind, filled)
    checks.problems(kind.group, kind.kind, filled, filled)
    if kind.kind == "CustomResourceDefinition":
        definition.problems(filled, filled)


@pytest.mark.parametrize("kind", KINDS[:4], ids=lambda kind: f"{kind.group}/{kind.kind}")
@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_any_object_can_be_applied_or_is_refused(kind: Resource, data: st.DataObject) -> None:
    drawn = data.draw(documents_of(kind.group, kind.kind))
    applied = {**drawn, "metadata": {"name": "x"}} if isinstance(drawn, dict) else {}
    harness.check(lambda: apply(kind, applied), refusals=(ApplyError, ApplyConflict))


def apply(kind: Resource, applied: dict[str, Any]) -> None:
    live = server_side.apply(
        kind.schema,
        None,
        applied,
        manager="m",
        subresource="",
        force=False,
        api_version="v1",
        now="t",
    )
    assert isinstance(live["metadata"], dict)


SCHEMAS = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(KEYWORDS.split()),
            inner,
            max_size=4,
        )
        | st.sampled_from(["object", "array", "string", "map", "set", "self == oldSelf"])
    ),
    max_leaves=12,
)


@settings(max_examples=settings().max_examples * 2)
@given(SCHEMAS)
def test_any_schema_is_accepted_or_refused(schema: Any) -> None:
    harness.check(lambda: judge_schema(schema), refusals=())


def judge_schema(schema: Any) -> None:
    kind = next(kind for kind in KINDS if kind.kind == "CustomResourceDefinition")
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    document = {"metadata": {"name": "x"}, "spec": {"versions": [version]}}
    kept, _ = structural.prune(kind.schema, document)
    filled = defaults.fill(kind.group, kind.kind, structural.default(kind.schema, kept))
    found = validation.validate(kind.schema, filled)
    if not any(cause.reason == Reason.TYPE_INVALID for cause in found):
        assert definition.problems(filled, None)
