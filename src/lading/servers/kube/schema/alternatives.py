"""allOf, anyOf, oneOf and not: value validations that a schema combines.

The sentence that no alternative fits stands at the root of the object, followed by the causes
of the alternative that came nearest: the one with the fewest of them.
"""

from collections.abc import Callable, Iterator
from typing import Any

from lading.servers.kube.schema import causes
from lading.servers.kube.schema.causes import Cause
from lading.servers.kube.schema.nodes import Schema

KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "not"})
Check = Callable[[Schema, Any, str], Iterator[Cause]]


def check(schema: Schema, value: Any, path: str, check_one: Check) -> Iterator[Cause]:
    def results(keyword: str) -> list[list[Cause]]:
        return [list(check_one(each, value, path)) for each in schema.get(keyword) or ()]

    if "anyOf" in schema:
        yield from _any(results("anyOf"), path)
    if "oneOf" in schema:
        yield from _one(results("oneOf"), path)
    if "allOf" in schema:
        yield from _all(results("allOf"), path)
    if "not" in schema and not list(check_one(schema["not"], value, path)):
        yield _sentence(path, "must not validate the schema (not)")


def _any(results: list[list[Cause]], path: str) -> Iterator[Cause]:
    if results and all(results):
        yield _sentence(path, "must validate at least one schema (anyOf)")
        yield from min(results, key=len)


def _one(results: list[list[Cause]], path: str) -> Iterator[Cause]:
    fitting = sum(not result for result in results)
    if results and fitting != 1:
        count = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
        yield _sentence(path, f"must validate one and only one schema (oneOf). {count}")
        if not fitting:
            yield from min(results, key=len)


def _all(results: list[list[Cause]], path: str) -> Iterator[Cause]:
    for result in results:
        yield from result
    if any(results):
        none = ". None validated" if all(results) else ""
        yield _sentence(path, f"must validate all the schemas (allOf){none}")


def _sentence(path: str, rest: str) -> Cause:
    return causes.invalid("", "", f'"{path}" {rest}')
