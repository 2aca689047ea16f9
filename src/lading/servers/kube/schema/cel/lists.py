"""Lists and sets for CEL: isSorted, sum, min, max, indexOf, sets.*, distinct, flatten, slice."""

import itertools
from typing import Any

from lading.servers.kube.schema.cel.declare import function, method, named


def functions() -> list[Any]:
    return [
        named("isSorted", method("l>b", _is_sorted)),
        named("sum", method("l>d", _sum)),
        named("min", method("l>d", _smallest)),
        named("max", method("l>d", _largest)),
        named("indexOf", method("ld>i", _index)),
        named("lastIndexOf", method("ld>i", _last_index)),
        named("distinct", method("l>l", _distinct)),
        named("flatten", method("l>l", _flattened)),
        named("slice", method("lii>l", _slice)),
        named("sets.contains", function("ll>b", _contains)),
        named(
            "sets.equivalent", function("ll>b", lambda a, b: _contains(a, b) and _contains(b, a))
        ),
        named("sets.intersects", function("ll>b", lambda a, b: any(each in a for each in b))),
    ]


def _is_sorted(values: list[Any]) -> bool:
    return all(left <= right for left, right in itertools.pairwise(values))


def _sum(values: list[Any]) -> Any:
    return sum(values[1:], values[0]) if values else 0


def _smallest(values: list[Any]) -> Any:
    if not values:
        raise ValueError("min called on empty list")
    return min(values)


def _largest(values: list[Any]) -> Any:
    if not values:
        raise ValueError("max called on empty list")
    return max(values)


def _index(values: list[Any], wanted: Any) -> int:
    return values.index(wanted) if wanted in values else -1


def _last_index(values: list[Any], wanted: Any) -> int:
    return len(values) - 1 - values[::-1].index(wanted) if wanted in values else -1


def _distinct(values: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct


def _flattened(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _contains(values: list[Any], wanted: list[Any]) -> bool:
    return all(each in values for each in wanted)
