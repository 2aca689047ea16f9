"""Pruning names the unknown fields that it removes; defaults stand for absent fields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.embedded.kube.schema import structural, validation

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "known": {"type": "string"},
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "open": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"closed": {"type": "object"}},
                },
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": True},
                "a": {"x-kubernetes-int-or-string": True},
            },
        }
    },
}


def pruned(spec: Any) -> tuple[Any, list[str]]:
    document, unknown = structural.prune(SCHEMA, {"spec": spec})
    return document["spec"], unknown


def test_unknown_fields_are_removed_and_named_by_path() -> None:
    spec = {"known": "x", "typo": 1, "items": [{"name": "a"}, {"nane": "b"}]}
    assert pruned(spec) == (
        {"known": "x", "items": [{"name": "a"}, {}]},
        ["spec.items[1].nane", "spec.typo"],
    )


def test_values_of_a_map_have_free_keys() -> None:
    assert pruned({"map": {"anything": 1}}) == ({"map": {"anything": 1}}, [])


def test_a_preserving_object_keeps_the_unknown_but_prunes_below_what_it_declares() -> None:
    spec = {"open": {"free": {"deep": 1}, "closed": {"gone": 1}}}
    assert pruned(spec) == (
        {"open": {"free": {"deep": 1}, "closed": {}}},
        ["spec.open.closed.gone"],
    )


def test_an_embedded_resource_keeps_its_type_and_metadata() -> None:
    resource = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    assert pruned({"embedded": {**resource, "spec": {}}}) == (
        {"embedded": resource},
        ["spec.embedded.spec"],
    )


def test_type_and_metadata_of_the_object_always_stay() -> None:
    document = {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}}}
    assert structural.prune({"type": "object"}, document) == (document, [])


@given(JSON)
def test_pruning_twice_changes_nothing_more(value: Any) -> None:
    once, _ = structural.prune(SCHEMA, {"spec": value})
    assert structural.prune(SCHEMA, once) == (once, [])


@given(st.dictionaries(st.sampled_from(["spec", "status"]), JSON))
def test_any_document_can_be_pruned_defaulted_and_validated(document: Any) -> None:
    kept, _ = structural.prune(SCHEMA, document)
    validation.validate(SCHEMA, structural.default(SCHEMA, kept))


DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "default": "Auto"},
        "maybe": {"type": "string", "default": "x", "nullable": True},
        "plain": {"type": "string"},
        "nested": {
            "type": "object",
            "default": {},
            "properties": {"deep": {"type": "integer", "default": 3}},
        },
        "absent": {
            "type": "object",
            "properties": {"deep": {"type": "integer", "default": 3}},
        },
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
        },
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"n": {"default": 2}}},
        },
    },
}
ALWAYS = {"mode": "Auto", "maybe": "x", "nested": {"deep": 3}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ALWAYS),
        ({"mode": "Off"}, {**ALWAYS, "mode": "Off"}),
        ({"mode": None}, ALWAYS),
        ({"maybe": None}, {**ALWAYS, "maybe": None}),
        ({"plain": None}, ALWAYS),
        ({"absent": {}}, {**ALWAYS, "absent": {"deep": 3}}),
        ({"items": [{}, {"n": 5}]}, {**ALWAYS, "items": [{"n": 1}, {"n": 5}]}),
        ({"map": {"k": {}}}, {**ALWAYS, "map": {"k": {"n": 2}}}),
    ],
    ids=[
        "an empty object gets every default, and defaults inside defaults",
        "what is given stays",
        "a null that is not allowed becomes the default",
        "a null that is allowed stays",
        "a null that is not allowed and has no default is dropped",
        "an object that is there gets the defaults of its fields",
        "items of lists get theirs",
        "values of maps get theirs",
    ],
)
def test_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert structural.default(DEFAULTS, given) == expected


def test_the_given_document_and_the_schema_are_left_alone() -> None:
    given: dict[str, Any] = {}
    structural.default(DEFAULTS, given)["nested"]["deep"] = 9
    assert given == {}
    assert structural.default(DEFAULTS, {}) == ALWAYS
