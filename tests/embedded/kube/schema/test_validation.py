"""What structural validation says, in the words a real kube-apiserver 1.36 was seen to use."""

from typing import Any

import pytest

from lading.embedded.kube.schema import causes, validation

PROPERTIES: dict[str, Any] = {
    "s": {"type": "string", "maxLength": 3, "minLength": 2, "pattern": "^[a-z]+$"},
    "e": {"type": "string", "enum": ["a", "b"]},
    "i": {"type": "integer", "minimum": 1, "maximum": 5},
    "x": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "multipleOf": 0.5},
    "i32": {"type": "integer", "format": "int32"},
    "ios": {"x-kubernetes-int-or-string": True},
    "l": {"type": "array", "maxItems": 2, "minItems": 1, "items": {"type": "string"}},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "lm": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n"],
        "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}},
    },
    "m": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer"}},
    "o": {"type": "object", "required": ["r"], "properties": {"r": {"type": "string"}}},
    "when": {"type": "string", "format": "date-time"},
    "one": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "all": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^a"}]},
    "not": {"type": "string", "not": {"enum": ["bad"]}},
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": PROPERTIES}},
}

CASES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"s": 5},
        ['spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"'],
    ),
    ({"s": "abcd"}, ["spec.s: Too long: may not be more than 3 bytes"]),
    ({"s": "a"}, ['spec.s: Invalid value: "a": spec.s in body should be at least 2 chars long']),
    ({"s": "AB"}, ["spec.s: Invalid value: \"AB\": spec.s in body should match '^[a-z]+$'"]),
    ({"s": "ab\n"}, ["spec.s: Invalid value: \"ab\\n\": spec.s in body should match '^[a-z]+$'"]),
    ({"e": "c"}, ['spec.e: Unsupported value: "c": supported values: "a", "b"']),
    (
        {"i": 0},
        ["spec.i: Invalid value: 0: spec.i in body should be greater than or equal to 1"],
    ),
    ({"i": 9}, ["spec.i: Invalid value: 9: spec.i in body should be less than or equal to 5"]),
    ({"i": 1.0}, []),
    (
        {"i": 1.5},
        ['spec.i: Invalid value: "number": spec.i in body must be of type integer: "number"'],
    ),
    (
        {"i": True},
        ['spec.i: Invalid value: "boolean": spec.i in body must be of type integer: "boolean"'],
    ),
    ({"x": 0.3}, ["spec.x: Invalid value: 0.3: spec.x in body should be a multiple of 0.5"]),
    (
        {"i32": 2**40},
        [
            (
                '<nil>: Invalid value: "": Checked value must be of type integer with format int32 '
                "in spec.i32"
            )
        ],
    ),
    (
        {"ios": True},
        [
            (
                'spec.ios: Invalid value: "boolean": '
                'spec.ios in body must be of type integer,string: "boolean"'
            )
        ],
    ),
    ({"ios": "5"}, []),
    ({"l": []}, ["spec.l: Invalid value: 0: spec.l in body should have at least 1 items"]),
    ({"l": ["a", "b", "c"]}, ["spec.l: Too many: 3: must have at most 2 items"]),
    (
        {"l": [None]},
        ['spec.l[0]: Invalid value: "null": spec.l[0] in body must be of type string: "null"'],
    ),
    ({"set": ["a", "a", "a"]}, ['spec.set[1]: Duplicate value: "a"']),
    ({"lm": [{"n": "a"}, {"n": "a"}]}, ['spec.lm[1]: Duplicate value: {"n":"a"}']),
    ({"lm": [{}]}, ["spec.lm[0].n: Required value"]),
    (
        {"m": {"k": "x"}},
        ['spec.m.k: Invalid value: "string": spec.m.k in body must be of type integer: "string"'],
    ),
    ({"m": {"a": 1, "b": 2, "c": 3}}, ["spec.m: Too many: 3: must have at most 2 items"]),
    ({"o": {}}, ["spec.o.r: Required value"]),
    (
        {"when": "yesterday"},
        [
            (
                'spec.when: Invalid value: "yesterday": '
                'spec.when in body must be of type date-time: "yesterday"'
            )
        ],
    ),
    ({"when": "2026-01-02T03:04:05Z"}, []),
    (
        {"one": {"a": 1, "b": 2}},
        [('<nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf)')],
    ),
    (
        {"all": "bb"},
        [
            "spec.all: Invalid value: \"bb\": spec.all in body should match '^a'",
        ],
    ),
    (
        {"not": "bad"},
        ['<nil>: Invalid value: "": "spec.not" must not validate the schema (not)'],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), CASES, ids=[str(spec) for spec, _ in CASES])
def test_the_answer_is_the_one_a_kubernetes_user_knows(
    spec: dict[str, Any], expected: list[str]
) -> None:
    assert [str(cause) for cause in validation.validate(SCHEMA, {"spec": spec})] == expected


def test_what_was_wrong_before_and_did_not_change_is_let_through() -> None:
    old = {"spec": {"i": 9, "s": "AB"}}
    found = validation.validate(SCHEMA, {"spec": {"i": 9, "s": "CD"}}, old)
    assert [cause.field for cause in found] == ["spec.s"]


def test_items_of_a_map_list_are_compared_with_the_old_item_of_the_same_key() -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n"],
        "items": {"type": "object", "properties": {"v": {"type": "integer", "maximum": 5}}},
    }
    whole = {"type": "object", "properties": {"l": schema}}
    old = {"l": [{"n": "a", "v": 9}, {"n": "b", "v": 1}]}
    new = {"l": [{"n": "b", "v": 8}, {"n": "a", "v": 9}]}
    assert [cause.field for cause in validation.validate(whole, new, old)] == ["l[0].v"]


def test_several_causes_are_listed_once_each() -> None:
    cause = causes.required("a")
    assert causes.summary([cause]) == "a: Required value"
    assert causes.summary([cause, causes.required("b"), cause]) == (
        "[a: Required value, b: Required value]"
    )
