"""The functions that Kubernetes adds to CEL, and that an error is never a value."""

import re
import time
from typing import Any

import pytest

from lading.servers.kube.schema import patterns
from lading.servers.kube.schema.cel import programs
from lading.servers.kube.schema.cel.errors import DoesNotCompile, DoesNotEvaluate


def evaluate(expression: str, **names: Any) -> Any:
    variables = tuple((name, "dyn") for name in names)
    return programs.compiled(expression, variables).evaluate(names)


@pytest.mark.parametrize(
    "expression",
    [
        "'a@b'.split('@')[1] == 'b'",
        "'  aB '.trim().lowerAscii() == 'ab'",
        "'a-b'.replace('-', '+') == 'a+b'",
        "'abc'.substring(1) == 'bc' && 'abc'.indexOf('c') == 2",
        "['a', 'b'].join('/') == 'a/b'",
        "'%s has %d'.format(['x', 3]) == 'x has 3'",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'a1b22'.findAll('[0-9]', 2) == ['1', '2']",
        "[1, 2, 2].isSorted() && ![2, 1].isSorted()",
        "[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1])",
        "!sets.intersects([1], [2]) && [1, 1].distinct() == [1] && [[1], [2]].flatten() == [1, 2]",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1k') == quantity('1000')",
        "quantity('1').add(quantity('500m')).sub(quantity('250m')) == quantity('1.25')",
        "quantity('2k').asInteger() == 2000 && isQuantity('1Ki') && !isQuantity('x')",
        "quantity('5').compareTo(quantity('7')) == -1 && quantity('-1').sign() == -1",
        "url('https://h.io:8/p?q=1').getHost() == 'h.io:8' && isURL('/path') && !isURL('p')",
        "url('https://h.io:8/p?q=1').getHostname() == 'h.io'",
        "url('https://h.io/p?q=1&q=2').getQuery()['q'] == ['1', '2']",
        "ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && !isIP('x')",
        "ip('10.0.0.1').isGlobalUnicast() && ip.isCanonical('::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').prefixLength() == 8",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && isCIDR('::/0') && !isCIDR('::1')",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('1.2.3').minor() == 2",
        "cel.bind(x, 2, x * x) == 4",
        "{'a': 1}.?b.orValue(5) == 5 && optional.of(1).hasValue()",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
    ],
)
def test_the_functions_of_kubernetes_are_there(expression: str) -> None:
    assert evaluate(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("names.missing", "no such key: missing"),
        ("quantity('x').isInteger()", "quantities must match the regular expression"),
        ("ip('x').family() == 4", "does not appear to be an IPv4 or IPv6 address"),
        ("[1][3]", "index out of bounds: 3"),
        ("names + 1", "no such overload"),
        ("[].max()", "max called on empty list"),
        ("'a'.find('(?=a)')", "invalid perl operator"),
        ("'a'.findAll('(')", "missing )"),
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
    assert programs.uses("self == oldSelf", "oldSelf")
    assert not programs.uses("self == 'oldSelf'", "oldSelf")
    assert not programs.uses("self.oldSelf == 1", "oldSelf")


def test_a_pattern_is_searched_in_linear_time_and_ends_where_the_text_ends() -> None:
    assert patterns.matches("b", "abc")
    assert not patterns.matches("^a$", "a\n")
    assert not patterns.matches("^(a+)+$", "a" * 5000 + "!")


@pytest.mark.parametrize("function", ["find", "findAll", "matches"])
def test_a_hostile_expression_takes_linear_time(function: str) -> None:
    began = time.perf_counter()
    assert not evaluate(f"text.{function}('^(a+)+$')", text="a" * 100_000 + "!")
    assert time.perf_counter() - began < 2


def test_a_pattern_that_cannot_be_read_matches_nothing_and_says_why() -> None:
    assert not patterns.matches("^[a", "a")
    assert "missing ]" in patterns.problem("^[a")
    assert patterns.problem("^[a]$") == ""
