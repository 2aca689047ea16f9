"""Label selectors, in the object form (matchLabels, matchExpressions) and the query form.

An empty selector matches everything, as in Kubernetes; whether an absent one matches nothing
is for the caller to say, because the APIs differ in that.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

import msgspec

from lading.kernel.errors import Malformed
from lading.kernel.fields import Field
from lading.kernel.objects import Model

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_DOMAIN_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_PREFIX = rf"(?=[^/]{{1,253}}/){_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*"
LABEL_KEY = re.compile(rf"(?:{_PREFIX}/)?{_NAME}")
LABEL_VALUE = re.compile(rf"(?:{_NAME})?")
_TOKEN = re.compile(r"\s*(?:(?P<symbol>!=|==|[=!(),<>])|(?P<word>[^\s!=(),<>]+))")
SELECTOR_CHARACTERS_MAX = 16_384


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Expression(Model, frozen=True, kw_only=True):
    """One requirement on a label."""

    key: Annotated[str, Field("The label's key.")]
    operator: Annotated[Operator, Field("How the label's value relates to the values.")]
    values: Annotated[
        tuple[str, ...],
        Field("The values, for In and NotIn; none for the others.", list_type="atomic"),
    ] = ()


class LabelSelector(Model, frozen=True, kw_only=True):
    """Labels that an object must carry; all requirements must hold."""

    match_labels: Annotated[
        dict[str, str], Field("Labels that must be there with exactly these values.")
    ] = {}
    match_expressions: Annotated[
        tuple[Expression, ...], Field("Requirements beyond equality.", list_type="atomic")
    ] = ()


class Requirement(msgspec.Struct, frozen=True):
    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def __str__(self) -> str:
        listed = ",".join(sorted(self.values))
        match self.operator:
            case Operator.IN:
                return (
                    f"{self.key}={listed}" if len(self.values) == 1 else f"{self.key} in ({listed})"
                )
            case Operator.NOT_IN:
                one = len(self.values) == 1
                return f"{self.key}!={listed}" if one else f"{self.key} notin ({listed})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"


class Selector(msgspec.Struct, frozen=True):
    """A conjunction of requirements; with none of them it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    @classmethod
    def of(cls, selector: LabelSelector) -> Self:
        equal = [
            Requirement(key, Operator.IN, frozenset({value}))
            for key, value in sorted(selector.match_labels.items())
        ]
        expressions = [_requirement(expression) for expression in selector.match_expressions]
        return cls(tuple(equal + expressions))


def _requirement(expression: Expression) -> Requirement:
    needs_values = expression.operator in (Operator.IN, Operator.NOT_IN)
    if needs_values != bool(expression.values):
        count = "at least one value" if needs_values else "no values"
        reason = f"operator {expression.operator} of key {expression.key!r} takes {count}"
        raise Malformed(what="label selector", text=expression.key, reason=reason)
    return Requirement(expression.key, expression.operator, frozenset(expression.values))


def parse(text: str) -> Selector:
    """Reads the query form: `a=b,c!=d,e in (x,y),f notin (z),g,!h`."""
    if len(text) > SELECTOR_CHARACTERS_MAX:
        raise _malformed(text, f"it is longer than {SELECTOR_CHARACTERS_MAX} characters")
    reader = _Reader(text, _tokens(text))
    requirements: list[Requirement] = []
    while reader.peek() is not None:
        requirements.append(reader.requirement())
        if reader.peek() is not None:
            reader.expect(",")
            if reader.peek() is None:
                raise _malformed(text, "it ends with ','")
    return Selector(tuple(requirements))


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, "every character is a symbol, a space or part of a word"
        tokens.append(match["symbol"] or match["word"])
        position = match.end()
    return tokens


class _Reader:
    """A cursor over the tokens of one selector."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text = text
        self._tokens = tokens
        self._position = 0

    def peek(self) -> str | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def next(self) -> str:
        token = self.peek()
        if token is None:
            raise _malformed(self._text, "it ends too early")
        self._position += 1
        return token

    def expect(self, wanted: str) -> None:
        token = self.next()
        if token != wanted:
            raise _malformed(self._text, f"expected {wanted!r} but found {token!r}")

    def requirement(self) -> Requirement:
        token = self.next()
        if token == "!":
            return Requirement(self._key(self.next()), Operator.DOES_NOT_EXIST)
        key = self._key(token)
        match self.peek():
            case "=" | "==":
                self.next()
                return Requirement(key, Operator.IN, frozenset({self._optional_value()}))
            case "!=":
                self.next()
                return Requirement(key, Operator.NOT_IN, frozenset({self._optional_value()}))
            case "in":
                self.next()
                return Requirement(key, Operator.IN, self._values())
            case "notin":
                self.next()
                return Requirement(key, Operator.NOT_IN, self._values())
            case None | ",":
                return Requirement(key, Operator.EXISTS)
            case other:
                raise _malformed(self._text, f"found {other!r} after key {key!r}")

    def _values(self) -> frozenset[str]:
        self.expect("(")
        values = {self._optional_value()}
        while self.peek() == ",":
            self.next()
            values.add(self._optional_value())
        self.expect(")")
        return frozenset(values)

    def _optional_value(self) -> str:
        if self.peek() in (None, ",", ")"):
            return ""
        value = self.next()
        if not LABEL_VALUE.fullmatch(value):
            raise _malformed(self._text, f"{value!r} is not a valid label value")
        return value

    def _key(self, token: str) -> str:
        if not LABEL_KEY.fullmatch(token):
            raise _malformed(self._text, f"{token!r} is not a valid label key")
        return token


def _malformed(text: str, reason: str) -> Malformed:
    return Malformed(what="label selector", text=text, reason=reason)
