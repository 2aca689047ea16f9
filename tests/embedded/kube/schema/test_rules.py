"""CEL rules of schemas: where they run, what they see, and what they say."""

from typing import Any

import pytest

from lading.embedded.kube.schema import rules


def schema(**properties: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    return {"type": "object", "properties": {"spec": spec}}


def ruled(kind: str, rule: str, **more: Any) -> dict[str, Any]:
    options = {key: more.pop(key) for key in list(more) if key in RULE_KEYS}
    return {"type": kind, "x-kubernetes-validations": [{"rule": rule, **options}], **more}


RULE_KEYS = ("message",)
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def violations(whole: dict[str, Any], spec: Any, old: Any = None, name: str = "n") -> list[str]:
    def document(part: Any) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": part}

    found = rules.violations(whole, document(spec), None if old is None else document(old))
    return [str(cause) for cause in found]


def test_a_rule_that_fails_shows_the_value_and_the_rule() -> None:
    found = violations(schema(a=ruled("integer", "self > 1")), {"a": 1})
    assert found == ["spec.a: Invalid value: 1: failed rule: self > 1"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("self.missing == 1", "no such key: missing evaluating rule: self.missing == 1"),
        ("1 / self.zero == 1", "division by zero evaluating rule: 1 / self.zero == 1"),
        ("self.list[7] == 1", "index out of bounds: 7 evaluating rule: self.list[7] == 1"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_a_violation(rule: str, text: str) -> None:
    lists = {"type": "array", "items": NUMBER}
    part = ruled("object", rule, properties={"zero": NUMBER, "list": lists, "missing": NUMBER})
    found = violations(schema(o=part), {"o": {"zero": 0, "list": []}})
    assert found == [f'spec.o: Invalid value: "object": {text}']


def test_a_rule_that_does_not_compile_is_a_violation_too() -> None:
    (found,) = violations(schema(a=ruled("string", "self.foo(")), {"a": "x"})
    assert found.startswith('spec.a: Invalid value: "string": rule compile error: ')


def test_rules_stand_on_items_and_on_values_of_maps() -> None:
    whole = schema(
        l={"type": "array", "items": ruled("string", "self.size() < 3")},
        m={"type": "object", "additionalProperties": ruled("integer", "self > 1")},
    )
    assert violations(whole, {"l": ["ab", "abc"], "m": {"x": 1, "y": 2}}) == [
        'spec.l[1]: Invalid value: "abc": failed rule: self.size() < 3',
        "spec.m[x]: Invalid value: 1: failed rule: self > 1",
    ]


def test_a_rule_on_the_whole_object_sees_its_name_but_no_other_metadata() -> None:
    whole = {**schema(), "x-kubernetes-validations": [{"rule": "self.metadata.name == 'only'"}]}
    assert violations(whole, {}, name="only") == []
    assert violations(whole, {}, name="x") == [
        "<nil>: Invalid value: failed rule: self.metadata.name == 'only'"
    ]


class TestTransitions:
    FIXED = schema(a=ruled("string", "self == oldSelf", message="immutable"))

    def test_a_rule_with_old_self_waits_for_an_old_value(self) -> None:
        assert violations(self.FIXED, {"a": "x"}) == []
        assert violations(self.FIXED, {"a": "x"}, old={}) == []

    def test_and_runs_when_there_is_one(self) -> None:
        assert violations(self.FIXED, {"a": "y"}, old={"a": "x"}) == [
            'spec.a: Invalid value: "y": immutable'
        ]

    def test_items_of_a_map_list_are_compared_by_key(self) -> None:
        item = {
            "type": "object",
            "properties": {"n": TEXT, "v": ruled("integer", "self >= oldSelf")},
        }
        part = {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": item,
        }
        old = {"l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]}
        new = {"l": [{"n": "b", "v": 1}, {"n": "a", "v": 1}]}
        assert violations(schema(l=part), new, old) == [
            "spec.l[0].v: Invalid value: 1: failed rule: self >= oldSelf"
        ]

    def test_the_order_of_a_set_does_not_matter(self) -> None:
        part = ruled("array", "self == oldSelf", items=TEXT, **{"x-kubernetes-list-type": "set"})
        assert violations(schema(s=part), {"s": ["b", "a"]}, old={"s": ["a", "b"]}) == []
        assert violations(schema(s=part), {"s": ["b"]}, old={"s": ["a", "b"]}) != []

    def test_what_was_wrong_before_and_did_not_change_passes(self) -> None:
        whole = schema(a=ruled("integer", "self > 1"), b=NUMBER)
        assert violations(whole, {"a": 1, "b": 2}, old={"a": 1, "b": 1}) == []
        assert violations(whole, {"a": 0}, old={"a": 1}) != []


class TestValues:
    def test_reserved_and_special_names_are_escaped(self) -> None:
        rule = "self.a__dash__b == 'x' && self.d__dot__e__slash__f == 1 && self.__in__ == 2"
        part = ruled("object", rule, properties={"a-b": TEXT, "d.e/f": NUMBER, "in": NUMBER})
        assert violations(schema(o=part), {"o": {"a-b": "x", "d.e/f": 1, "in": 2}}) == []

    @pytest.mark.parametrize("rule", ["self.namespace == 'x'", "self.__namespace__ == 'x'"])
    def test_namespace_may_be_written_both_ways(self, rule: str) -> None:
        part = ruled("object", rule, properties={"namespace": TEXT})
        assert violations(schema(o=part), {"o": {"namespace": "x"}}) == []

    def test_times_and_durations_are_typed(self) -> None:
        rule = "self.t > timestamp('2020-01-01T00:00:00Z') && self.d < duration('1h')"
        properties = {
            "t": {"type": "string", "format": "date-time"},
            "d": {"type": "string", "format": "duration"},
        }
        part = ruled("object", rule, properties=properties)
        assert violations(schema(o=part), {"o": {"t": "2021-01-01T00:00:00Z", "d": "30m"}}) == []

    def test_a_whole_number_of_type_number_divides_as_a_fraction(self) -> None:
        assert violations(schema(a=ruled("number", "self / 2.0 == 1.5")), {"a": 3}) == []

    def test_a_null_is_not_there(self) -> None:
        part = ruled("object", "!has(self.a)", properties={"a": {**TEXT, "nullable": True}})
        assert violations(schema(o=part), {"o": {"a": None}}) == []
