"""Defaults stand for absent fields, and for nulls where null is not allowed."""

from typing import Any

import pytest

from lading.servers.kube.schema import structural

SCHEMA: dict[str, Any] = {
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
    assert structural.default(SCHEMA, given) == expected


def test_the_given_document_and_the_schema_are_left_alone() -> None:
    given: dict[str, Any] = {}
    structural.default(SCHEMA, given)["nested"]["deep"] = 9
    assert given == {}
    assert structural.default(SCHEMA, {}) == ALWAYS
