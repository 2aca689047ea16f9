"""CEL: the functions that policies use, errors that are never values; and patterns of RE2."""

import re
import time
from typing import Any

import pytest

from lading.embedded.kube.schema import cel, formats
from lading.embedded.kube.schema.cel import DoesNotCompile, DoesNotEvaluate


def evaluate(expression: str, **names: Any) -> Any:
    variables = tuple((name, "dyn") for name in names)
    return cel.compiled(expression, variables).evaluate(names)


@pytest.mark.parametrize(
    "expression",
    [
        "'a@b'.split('@')[1] == 'b'",
        "'  aB '.trim().lowerAscii() == 'ab'",
        "'a-b'.replace('-', '+') == 'a+b'",
        "'abc'.substring(1) == 'bc' && 'abc'.indexOf('c') == 2",
        "['a', 'b'].join('/') == 'a/b'",
        "'%s has %d'.format(['x', 3]) == 'x has 3'",
        "cel.bind(x, 2, x * x) == 4",
        "{'a': 1}.?b.orValue(5) == 5 && optional.of(1).hasValue()",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
    ],
)
def test_the_standard_functions_are_there(expression: str) -> None:
    assert evaluate(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("names.missing", "no such key: missing"),
        ("[1][3]", "index out of bounds: 3"),
        ("names + 1", "no such overload"),
    ],
)
def test_an_error_is_raised_and_never_true(expression: str, text: str) -> None:
    with pytest.raises(DoesNotEvaluate, match=re.escape(text)):
        evaluate(expression, names={})


@pytest.mark.parametrize("expression", ["1 +", "unknown == 1", "'a' == 1", "foo(1)"])
def test_a_mistake_is_found_before_anything_runs(expression: str) -> None:
    with pytest.raises(DoesNotCompile, match=r"compilation failed: ERROR: <input>:1:\d+: "):
        evaluate(expression)


def test_a_variable_is_seen_only_outside_of_texts_and_fields() -> None:
    assert cel.uses("self == oldSelf", "oldSelf")
    assert not cel.uses("self == 'oldSelf'", "oldSelf")
    assert not cel.uses("self.oldSelf == 1", "oldSelf")


def test_a_pattern_is_searched_in_linear_time_and_ends_where_the_text_ends() -> None:
    assert formats.matches("b", "abc")
    assert not formats.matches("^a$", "a\n")
    assert not formats.matches("^(a+)+$", "a" * 5000 + "!")


def test_a_hostile_expression_takes_linear_time() -> None:
    began = time.perf_counter()
    assert not evaluate("text.matches('^(a+)+$')", text="a" * 100_000 + "!")
    assert time.perf_counter() - began < 2


def test_a_pattern_that_cannot_be_read_matches_nothing_and_says_why() -> None:
    assert not formats.matches("^[a", "a")
    assert "missing ]" in formats.pattern_problem("^[a")
    assert formats.pattern_problem("^[a]$") == ""
