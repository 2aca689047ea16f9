"""Quantities and semantic versions for CEL: both compare, quantities also add and subtract."""

import re
from decimal import Decimal
from typing import Any

from lading.kernel import quantities
from lading.kernel.errors import Malformed
from lading.servers.kube.schema import quantities as spelling
from lading.servers.kube.schema.cel.declare import function, method, named, tagged

QUANTITY = "quantity"
SEMVER = "semver"
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
_INTEGER_MAX = 2**63


def functions() -> list[Any]:
    return [
        named("quantity", function("s>d", _quantity)),
        named("isQuantity", function("s>b", spelling.is_quantity)),
        named("semver", function("s>d", _semver)),
        named("isSemver", function("s>b", lambda text: _SEMVER.fullmatch(text) is not None)),
        named("sign", method("d>i", lambda value: _compare(value, _tagged(Decimal(0))))),
        named("isInteger", method("d>b", lambda value: _is_integer(_number(value)))),
        named("asInteger", method("d>i", _as_integer)),
        named("asApproximateFloat", method("d>f", lambda value: float(_number(value)))),
        named("add", method("dd>d", lambda a, b: _tagged(_number(a) + _number(b)))),
        named("sub", method("dd>d", lambda a, b: _tagged(_number(a) - _number(b)))),
        named("compareTo", method("dd>i", _compare)),
        named("isLessThan", method("dd>b", lambda a, b: _compare(a, b) < 0)),
        named("isGreaterThan", method("dd>b", lambda a, b: _compare(a, b) > 0)),
        named("major", method("d>i", lambda value: _version(value)[0])),
        named("minor", method("d>i", lambda value: _version(value)[1])),
        named("patch", method("d>i", lambda value: _version(value)[2])),
    ]


def _quantity(text: str) -> dict[str, str]:
    try:
        return _tagged(quantities.parse(text))
    except Malformed as error:
        raise ValueError(spelling.NOT_A_QUANTITY) from error


def _tagged(number: Decimal) -> dict[str, str]:
    """Two spellings of one quantity are equal: the number is written in one way."""
    return {QUANTITY: format(number.normalize(), "f")}


def _number(value: Any) -> Decimal:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    return Decimal(tagged(QUANTITY, value))


def _is_integer(number: Decimal) -> bool:
    return number == number.to_integral_value() and abs(number) < _INTEGER_MAX


def _as_integer(value: Any) -> int:
    number = _number(value)
    if not _is_integer(number):
        raise ValueError("cannot convert value to integer")
    return int(number)


def _semver(text: str) -> dict[str, str]:
    if _SEMVER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a semantic version")
    return {SEMVER: text}


def _version(value: Any) -> tuple[int, int, int, tuple[tuple[int, int, str], ...]]:
    """Orders as semver.org says: a pre-release comes before its release."""
    match = _SEMVER.fullmatch(tagged(SEMVER, value))
    assert match is not None, "semver() made it"
    major, minor, patch, before = match.groups()
    parts = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in (before or "").split(".")
    )
    return int(major), int(minor), int(patch), parts if before else ((2, 0, ""),)


def _compare(left: Any, right: Any) -> int:
    if isinstance(left, dict) and SEMVER in left:
        first, second = _version(left), _version(right)
        return (first > second) - (first < second)
    difference = _number(left) - _number(right)
    return (difference > 0) - (difference < 0)
